import { render } from "preact";
import { App } from "./page/App.js";

const root = document.getElementById("book");
if (root) render(<App />, root);

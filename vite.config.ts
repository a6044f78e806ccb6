import { defineConfig, type Plugin } from "vite";

/** This vite takes its own marker behind an `import()` for shorter than this rolldown writes it, and leaves the rest standing. */
const wholeImports: Plugin = {
  name: "whole-imports",
  generateBundle: {
    order: "post",
    handler(_, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type === "chunk") file.code = file.code.replace(/(\),\s*\[\])[\da-f]{32}/g, "$1");
      }
    },
  },
};

export default defineConfig({
  root: "src/app/web",
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [wholeImports],
  build: { outDir: "../../../dist/web", emptyOutDir: true, target: "es2022", modulePreload: false },
});

export * from "./channel.js";

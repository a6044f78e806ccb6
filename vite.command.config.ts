import { defineConfig } from "vite";

/**
 * The command line in a few files instead of a few hundred: reading that many one by one is most of the time a start
 * takes. The library's doors stay as they are, file by file.
 */
export default defineConfig({
  build: {
    ssr: true,
    outDir: "dist/app/command",
    emptyOutDir: true,
    target: "node20",
    rolldownOptions: {
      input: { main: "src/app/cli/main.ts", worker: "src/store/sqlite/worker.ts" },
      // Left out: drivers (one is native, the other few need), packages their user installs or updates, and what fastify
      // loads only when it is asked to.
      external: [
        /^@modelcontextprotocol\/sdk\//,
        /^@photostructure\/sqlite$/,
        /^pg$/,
        /^sharp$/,
        /^@pydantic\/genai-prices$/,
        /^@fastify\/ajv-compiler$/,
        /^@fastify\/fast-json-stringify-compiler$/,
        /^pino$/,
        /^light-my-request$/,
      ],
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: "[name]-[hash].js",
        // Without comments and white space there is half as much to read; names stay, for whoever reads a stack.
        minify: { compress: false, mangle: false, codegen: true },
      },
    },
  },
  ssr: { noExternal: true },
});

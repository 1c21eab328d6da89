import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defaultClientConditions, defineConfig } from "vite";

const postern = process.env["POSTERN_URL"] ?? "http://127.0.0.1:7420";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  plugins: [react(), tailwindcss()],
  resolve: { conditions: ["postern-source", ...defaultClientConditions] },
  // While the console is edited: Postern answers only its own Host and Origin.
  server: { proxy: { "/v1": { target: postern, changeOrigin: true, headers: { origin: postern } } } },
  build: {
    outDir: fileURLToPath(new URL("../packages/postern/dist/console", import.meta.url)),
    emptyOutDir: true,
    // Browsers that know light-dark() and popovers.
    target: ["chrome123", "firefox125", "safari17.5"],
    // The policy of the page allows no `data:` and no inline anything.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});

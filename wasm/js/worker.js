// The program of a Web Worker: serves the port that the page sends first.

import { serve } from "./serve.js";

globalThis.addEventListener("message", ({ data }) => serve(data.port), { once: true });

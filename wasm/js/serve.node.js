// `serve` for threads of Node.

import "./index.node.js";

export { serve } from "./serve.js";

// A thread of Node with gitsip in it.

import { parentPort } from "node:worker_threads";
import { serve } from "gitsip/serve";

parentPort.once("message", ({ port }) => serve(port));

// For Deno: prints what came from the address that is its argument.

import { use } from "./use.js";

console.log(JSON.stringify(await use(Deno.args[0])));

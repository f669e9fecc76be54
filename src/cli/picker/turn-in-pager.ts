/** Shows a turn in the pager, as `ctxbridge show` does. */

import type { Environment } from "../command.ts"
import show from "../commands/show.ts"
import { createOutput, writeOut } from "../output.ts"
import { showInPager } from "../pager.ts"

/** @param handle of the turn, with `ctx:` */
export async function showTurnInPager(env: Environment, handle: string, color: boolean): Promise<void> {
  const out = createOutput({
    json: false,
    color: () => color,
    links: () => env.config["output.links"] !== "never",
    pager: async (text) => (await showInPager(text, "R")) || stays(text),
    pagesAll: true,
  })
  await show.run({ args: { what: handle }, out, env })
  await out.end()
}

/** Without a pager, the turn stays on the screen until it has been read. */
function stays(text: string): true {
  writeOut(`${text}\nEnter goes back `)
  Bun.spawnSync(["sh", "-c", "read -r _"], { stdio: ["inherit", "inherit", "inherit"] })
  return true
}

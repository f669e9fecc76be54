/** What is done with turns outside the picker's screen: shown in the pager, as `ctxbridge show` does, and exported. */

import { existsSync } from "node:fs"
import { join } from "../../base/path.ts"
import { count } from "../../base/text.ts"
import { HANDLE_PREFIX } from "../../record/our-marks.ts"
import type { Environment } from "../command.ts"
import exportCommand from "../commands/export.ts"
import show from "../commands/show.ts"
import { createOutput, writeOut } from "../output.ts"
import { showInPager } from "../pager.ts"

/** @param handles of the turns, with `ctx:` */
export async function showTurnsInPager(
  env: Environment,
  handles: readonly string[],
  color: boolean,
): Promise<void> {
  const out = createOutput({
    json: false,
    color: () => color,
    links: () => env.config["output.links"] !== "never",
    pager: async (text) => (await showInPager(text, "R")) || stays(text),
    pagesAll: true,
  })
  for (const [n, what] of handles.entries()) {
    if (n > 0) out.print("")
    await show.run({ args: { what }, out, env })
  }
  await out.end()
}

/** Without a pager, the turn stays on the screen until it has been read. */
function stays(text: string): true {
  writeOut(`${text}\nEnter goes back `)
  Bun.spawnSync(["sh", "-c", "read -r _"], { stdio: ["inherit", "inherit", "inherit"] })
  return true
}

/**
 * Writes them as Markdown to a new file of the current folder.
 *
 * @returns what to tell about it
 */
export async function exportTurns(env: Environment, handles: readonly string[]): Promise<string> {
  const name = `turns-${handles[0]!.slice(HANDLE_PREFIX.length)}`
  let output = `${name}.md`
  for (let n = 2; existsSync(join(env.cwd, output)); n++) output = `${name}-${n}.md`
  // Its report is not for this screen.
  const out = createOutput({ json: true, color: () => false })
  await exportCommand.run({ args: { _rest: handles, output }, out, env })
  return `${count(handles.length, "turn")} exported to ${output}`
}

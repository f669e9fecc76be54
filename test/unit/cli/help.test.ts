/** The help of each command. */
import { expect, test } from "bun:test"
import { COMMANDS } from "../../../src/cli/commands.ts"
import { renderHelp } from "../../../src/cli/help.ts"
import { createStyle } from "../../../src/cli/style.ts"

/** Each line of a help was filled up to the longest, of up to 400 columns, and none was broken: a terminal wrapped them all. */
test.each(Object.keys(COMMANDS))("%s: every line fits, and ends with its last word", async (name) => {
  const { default: command } = await COMMANDS[name]!()
  for (const columns of [60, 80, 200]) {
    for (const line of await renderHelp(command, columns, createStyle(false))) {
      expect(line).not.toMatch(/\s$/)
      // What can be typed is never broken.
      if (!/^( {2}\S|USAGE )/.test(line)) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns)
    }
  }
})

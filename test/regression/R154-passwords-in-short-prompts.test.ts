/**
 * A quick look tells whether a prompt can hold a secret at all. It looked for a long word or an operator, and so the
 * password in `sshpass -p …` or `--password …` reached the state of the session.
 */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Machine } from "../support/machine.ts"

test.each([
  ["run sshpass -p hunter2x ssh box", "run sshpass -p ******** ssh box"],
  ["mysql --password s3cret99 now", "mysql --password ******** now"],
  ["gpg --passphrase Tr0ub4dor", "gpg --passphrase *********"],
  ["send Bearer abc1.def2.ghi3.jkl4 along", "send Bearer ******************* along"],
])("%s", async (prompt, kept) => {
  using machine = new Machine()
  const session = machine.session().turn("before it").flush()
  expect(await machine.hook("user-prompt-submit", session, { prompt })).toMatchObject({ code: 0, stderr: "" })
  const file = join(machine.dataHome, "sessions", `${session.session}.json`)
  expect(JSON.parse(readFileSync(file, "utf8")).prompt).toBe(kept)
})

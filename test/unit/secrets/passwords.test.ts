/** Passwords, as people write them in settings and prompts. */
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Inside } from "../../support/inside.ts"
import { contentOf } from "../../support/machine.ts"

const SECRETS = [
  ["DB_PASS=hunter2x!y", "DB_PASS=**********"],
  ["export SMTP_PASS='s3cr3t!pw' && run", "export SMTP_PASS='*********' && run"],
  ['auth: { user: "bob", pass: "s3cr3t!pw" }', 'auth: { user: "bob", pass: "*********" }'],
  ["user: bob\npass: 's3cr3t!pw'\n", "user: bob\npass: '*********'\n"],
  ["DB_PASSWORD=Summer2024!", "DB_PASSWORD=***********"],
  ["sshpass -p Summer2024! ssh shop", "sshpass -p *********** ssh shop"],
  ['{"name": "DB_PASS", "value": "s3cr3t!pw"}', '{"name": "DB_PASS", "value": "*********"}'],
]

const HARMLESS = [
  "Wrong password: denied!",
  "First pass: 12345ms",
  'pass: "succeeded"',
  "pass: src/step1.test.ts",
  '["pass","step_12a"]',
  "DB_PASS=$(vault read db1)",
  "BYPASS=cache-v12",
  "compass: 'n0rth-east'",
]

/**
 * The filter knew `DB_PASSWORD=…` and `password: "…"`, but not the shorter `DB_PASS=…` and `pass: "…"`, which stand in as
 * many files of settings. And it took a password without quotation marks that ends in `!` for a sentence.
 */
test("values of `pass` are filled, and the word stays a word", async () => {
  using machine = new Inside()
  const session = machine.session()
  for (const text of [...SECRETS.map(([text]) => text!), ...HARMLESS]) session.turn(text)
  expect(await machine.hook("stop", session.flush())).toMatchObject({ code: 0, stdout: "", stderr: "" })
  const prompts = contentOf(machine.copy(session.path))
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === "user")
    .map(({ message }) => message.content)
  expect(prompts).toEqual([...SECRETS.map(([, kept]) => kept!), ...HARMLESS])
})

/**
 * A quick look tells whether a prompt can hold a secret at all. It looked for a long word or an operator, and so the
 * password in `sshpass -p …` or `--password …` reached the state of the session.
 */
describe("a password in a short prompt is not kept", () => {
  test.each([
    ["run sshpass -p hunter2x ssh box", "run sshpass -p ******** ssh box"],
    ["mysql --password s3cret99 now", "mysql --password ******** now"],
    ["gpg --passphrase Tr0ub4dor", "gpg --passphrase *********"],
    ["send Bearer abc1.def2.ghi3.jkl4 along", "send Bearer ******************* along"],
  ])("%s", async (prompt, kept) => {
    using machine = new Inside()
    const session = machine.session().turn("before it").flush()
    expect(await machine.hook("user-prompt-submit", session, { prompt })).toMatchObject({
      code: 0,
      stderr: "",
    })
    const file = join(machine.dataHome, "sessions", `${session.session}.json`)
    expect(JSON.parse(readFileSync(file, "utf8")).prompt).toBe(kept)
  })
})

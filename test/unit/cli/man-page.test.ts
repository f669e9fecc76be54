/** The manual page. */
import { expect, test } from "bun:test"
import { manPage } from "../../../src/cli/commands/man.ts"
import { commandModels } from "../../../src/cli/completions/command-words.ts"
import { Inside, run } from "../../support/inside.ts"

const page = async (): Promise<string> => {
  using machine = new Inside()
  const ran = await run(["man"], machine)
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  return ran.stdout
}

test("has every group, command and option, and no hidden command", async () => {
  const text = await page()
  for (const section of ["FIND", "READ", "KEEP", "MAINTAIN", "EXIT STATUS", "FILES"])
    expect(text).toContain(`\n.SH ${section}\n`)
  expect(text).toContain("\\fBsearch\\fR \\fIquery\\fR...")
  expect(text).toContain("Also \\fBgrep\\fR.")
  expect(text).toContain("\\fB\\-n\\fR, \\fB\\-\\-limit\\fR=\\fIN\\fR")
  expect(text).not.toContain("\\fBhook\\fR")
})

test("words that roff would take for macros or escapes are none", () => {
  const [model] = commandModels([
    { meta: { name: "paint", description: ".SH is \\fB no macro" }, args: {}, run() {} },
  ])
  const text = manPage("1.0", [{ title: "x", commands: [model!] }], ["json", "debug", "help"])
  expect(text).toContain("\n\\&.SH is \\efB no macro.\n")
})

test.skipIf(Bun.which("man") === null)("man renders it without a warning (needs man)", async () => {
  const { stdout, stderr, exitCode } = Bun.spawnSync(["man", "--warnings", "-l", "-"], {
    stdin: Buffer.from(await page()),
    env: { PATH: process.env["PATH"] ?? "", MANWIDTH: "80", LC_ALL: "C.UTF-8", MANPAGER: "cat" },
  })
  expect({ exitCode, stderr: String(stderr) }).toEqual({ exitCode: 0, stderr: "" })
  expect(String(stdout)).toContain("ctxbridge - a memory for Claude Code")
})

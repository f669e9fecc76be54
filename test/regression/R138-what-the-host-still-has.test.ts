/** `forget --match` did not say that the host's own transcripts still hold the text, as `forget SESSION` does. */
import { expect, test } from "bun:test"
import { rmSync } from "node:fs"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

const WORD = "Quillfeather"

test("what Claude Code keeps is told, in words that fit the number", async () => {
  using machine = new Machine()
  const there = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const [first, second] = [machine.session(), machine.session()]
  first.turn(`${WORD} is the word`).flush()
  second.turn(`${WORD}, too`).flush()
  expect((await there("import")).code).toBe(0)
  const told = async (...args: string[]): Promise<string | undefined> => {
    const { code, stdout, stderr } = await there("forget", ...args, "--dry-run")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout.split("\n").find((line) => line.startsWith("Claude Code itself"))
  }
  expect(await told("--match", WORD)).toBe("Claude Code itself still has 2 of these transcripts, unchanged")
  expect(await told(first.session)).toBe(
    "Claude Code itself still has 1 transcript of it; it will not be archived again",
  )
  expect(await told(machine.cwd)).toBe(
    "Claude Code itself still has 2 transcripts of them; they will not be archived again",
  )
  rmSync(first.path)
  expect(await told("--match", WORD)).toBe("Claude Code itself still has 1 of these transcripts, unchanged")
  rmSync(second.path)
  expect(await told("--match", WORD)).toBeUndefined()
})

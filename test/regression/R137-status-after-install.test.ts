/** `status` told those who had just installed the hooks to install them, and called a hook without a timeout another binary's. */
import { expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

test("before the first session, status says what is missing", async () => {
  using machine = new Machine()
  const there = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const lastLine = async (): Promise<string | undefined> => {
    const { code, stdout, stderr } = await there("status")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout.trimEnd().split("\n").at(-1)
  }
  expect(await lastLine()).toBe(
    "No archive yet: `ctxbridge install` registers the hooks, `ctxbridge import` archives what already exists.",
  )
  expect((await there("install")).code).toBe(0)
  expect(await lastLine()).toBe(
    "No archive yet: it begins with the next session, `ctxbridge import` archives what already exists.",
  )
})

test("a hook that was changed is not said to be another binary's", async () => {
  using machine = new Machine()
  const there = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  expect((await there("install")).code).toBe(0)
  const file = join(machine.home, ".claude", "settings.json")
  const settings = JSON.parse(readFileSync(file, "utf8"))
  delete settings.hooks.Stop[0].hooks[0].timeout
  writeFileSync(file, JSON.stringify(settings))
  const { code, stdout, stderr } = await there("status")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(stdout).toContain(`5 of 6 in ${file}; of another binary, or changed: Stop\n`)
})

/** The workflow for a public CI: what it calls exists, and it is trusted with nothing. */
import { expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import manifest from "../package.json"

const ROOT = join(import.meta.dir, "..")

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<
    Record<string, { readonly steps: readonly { readonly run?: string; readonly uses?: string }[] }>
  >
}

const workflow = Bun.YAML.parse(readFileSync(join(ROOT, ".github/workflows/ci.yml"), "utf8")) as Workflow

test("it may read, and runs no code of anybody else's", () => {
  expect(workflow.permissions).toEqual({ contents: "read" })
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps)
  expect(steps.filter(({ uses }) => uses !== undefined)).toEqual([])
  expect(steps.every(({ run }) => run !== undefined)).toBe(true)
})

test("the scripts that it calls are there", () => {
  const commands = Object.values(workflow.jobs).flatMap((job) => job.steps.map(({ run }) => run ?? ""))
  const scripts = commands.join("\n").matchAll(/npm run (\S+)/g)
  for (const [, script] of scripts) expect(Object.keys(manifest.scripts)).toContain(script!)
  for (const file of ["install.sh", ".ci/run"]) {
    expect(commands.some((command) => command.includes(file))).toBe(true)
    expect(existsSync(join(ROOT, file))).toBe(true)
  }
})

/** What CONTRIBUTING says of a further agent stays true: a folder, a row in each of two tables, a section of the docs. */
import { expect, test } from "bun:test"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { AGENTS, UNMARKED } from "../../../src/agents/agents.ts"
import { copyPlace, isTopOfCopies } from "../../../src/agents/layouts.ts"

const ROOT = join(import.meta.dir, "../../..")
const SRC = join(ROOT, "src")
const others = AGENTS.filter(({ name }) => name !== UNMARKED)

const imports = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .flatMap((file) =>
    [...readFileSync(join(SRC, file), "utf8").matchAll(/from "([^"]+\.ts)"/g)].map(([, to]) => ({
      file,
      to: join(file, "..", to!),
    })),
  )

/** Agents and their tables, and what brings in sessions that are no files. */
const MAY_NAME = /^(?:agents\/|hook\/other-agents\.ts|job\/import\/|job\/find-transcripts\.ts)/

test.each(others.map(({ name }) => name))("%s is named by the tables of agents only", (name) => {
  expect(statSync(join(SRC, "agents", name)).isDirectory()).toBe(true)
  const own = `agents/${name}/`
  const users = imports.filter(({ file, to }) => to.startsWith(own) && !file.startsWith(own))
  expect(users.map(({ file }) => file).filter((file) => !MAY_NAME.test(file))).toEqual([])
  expect(isTopOfCopies(name)).toBe(true)
})

test.each(others.map(({ name, title }) => [name, title] as const))(
  "docs have a section of %s",
  (name, title) => {
    const docs = readFileSync(join(ROOT, "docs/agents.md"), "utf8")
    expect(docs).toMatch(new RegExp(`^\\| \\[[^\\]]+\\]\\(#[\\w-]+\\) +\\| \`${name}\` `, "m"))
    expect(docs).toContain(`\n## ${title}\n`)
  },
)

test("each agent's transcripts lie in one place of the vault, below its name", () => {
  for (const { name, transcripts } of others)
    for (const folder of transcripts({ home: "/h", claudeDir: "/c", named: () => undefined })) {
      const place = copyPlace(`${folder}/x/y.jsonl`)
      if (place !== undefined) expect(place.top).toBe(name)
    }
})

/** Whatever happens to an archive between two syncs, its target ends with what is there, and without what is forgotten. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { FILTERED } from "../../src/secrets/filter.ts"
import { syncArchive } from "../../src/sync/sync-archive.ts"
import { Ledger } from "../../src/sync/sync-ledger.ts"
import { openFolderTarget } from "../../src/sync/targets/folder-target.ts"
import { vaultFile } from "../../src/vault/layout.ts"
import { open } from "../../src/views/open.ts"
import { sources } from "../../src/views/view-sources.ts"
import { ChangingArchive, changingStep, type Step, wordOf } from "../support/changing-archive.ts"
import { contentOf } from "../support/machine.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(120_000)

/** A sync as the command does it: target and ledger are opened anew each time. */
async function sync(world: ChangingArchive, folder: string) {
  const { dataHome, root } = world.archive
  const backend = openFolderTarget(folder, "machine")
  const paths = {
    dataHome,
    home: root,
    stateHome: "",
    claudeDir: "",
    named: () => undefined,
    claudeConfig: "",
    configFile: "",
    temporary: "",
  }
  const report = await syncArchive(
    backend,
    new Ledger(dataHome, backend.id),
    {
      place: { ...paths, secrets: FILTERED, exclude: [] },
      look(use) {
        const db = open(dataHome, "write", 0)
        try {
          return use(db)
        } finally {
          db.close()
        }
      },
    },
    false,
  )
  await backend.close()
  return report
}

const textIn = (folder: string): string =>
  (readdirSync(folder, { recursive: true, withFileTypes: true }) ?? [])
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .join("\n")

const idsIn = async (folder: string): Promise<string[]> => {
  const found = await openFolderTarget(folder, "reader").find({ words: "", limit: 10_000 })
  return found.map(({ id }) => id).sort()
}

async function check(steps: readonly Step[]): Promise<void> {
  using folder = tempFolder()
  const world = new ChangingArchive()
  using _archive = world.archive
  const followed = join(folder.path, "followed")
  for (const [n, one] of steps.entries()) {
    if (one.what === "look") await sync(world, followed)
    else world.play(one, n)
  }
  await sync(world, followed)
  expect(await sync(world, followed)).toMatchObject({ turns: 0, stored: 0, forgotten: 0 })
  // One that has seen nothing of all this has nothing that the other one lacks.
  const fresh = join(folder.path, "fresh")
  await sync(world, fresh)
  const there = await idsIn(followed)
  expect((await idsIn(fresh)).filter((id) => !there.includes(id))).toEqual([])
  // A word that the vault has lost is in no file.
  const { dataHome } = world.archive
  const vault = sources(dataHome).map(({ copy }) => contentOf(vaultFile(dataHome, copy)).toString("utf8"))
  const kept = textIn(followed)
  const words = steps.flatMap((_, n) => [wordOf(n), `hidden${n}x`])
  const lost = words.filter((word) => !vault.some((text) => text.includes(word)))
  expect(lost.filter((word) => kept.includes(word))).toEqual([])
}

/** Every kind of change between two syncs. */
const examples = (["turn", "turn", "grow", "rewind", "word", "rebuild", "forget", "turn"] as const).flatMap(
  (what): Step[] => [
    { session: 0, what },
    { session: 0, what: "look" },
  ],
)

/** A text is filled without a tombstone in a turn that has grown since. */
const filledAndGrown = (["turn", "look", "grow", "turn", "turn", "turn", "word"] as const).map(
  (what): Step => ({ session: 0, what }),
)

test("turns grow, are taken back, are forgotten, and views are made anew", async () => {
  await fc.assert(fc.asyncProperty(fc.array(changingStep, { minLength: 4, maxLength: 24 }), check), {
    numRuns: 25,
    examples: [[examples], [filledAndGrown]],
  })
})

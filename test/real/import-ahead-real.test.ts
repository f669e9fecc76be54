/** Real transcripts, imported with a child and without: the same rows, words and copies. */
import { expect, test } from "bun:test"
import { dirname } from "node:path"
import { vaultFiles } from "../../src/vault/vault-files.ts"
import { run } from "../support/binary.ts"
import { expectSame, importedAlone, wholeArchive } from "../support/history.ts"
import { Machine } from "../support/machine.ts"
import { transcriptFiles } from "../support/real.ts"

const files = transcriptFiles()
if (files.length === 0) console.warn("no real transcripts beside the checkout: skipped")

test.skipIf(files.length === 0)(
  "a child that captures ahead changes nothing",
  async () => {
    using machine = new Machine()
    const folder = dirname(dirname(files[0]!))
    const alone = importedAlone(machine, folder)
    expect(await run(["import", folder], { env: machine.env, cwd: machine.cwd })).toMatchObject({
      code: 0,
      stderr: "",
    })
    const copies = vaultFiles(alone).map(({ copy }) => copy)
    expectSame(wholeArchive(machine.dataHome, copies), wholeArchive(alone, copies))
  },
  300_000,
)

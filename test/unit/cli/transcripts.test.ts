/** What doctor says of the host's transcripts: which are in the vault, and when the host deletes them. */
import { describe, expect, test } from "bun:test"
import { mkdirSync, renameSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { findings } from "../../support/examined.ts"
import { Inside, run } from "../../support/inside.ts"

const DAY = 86_400

async function archived(): Promise<Inside> {
  const machine = new Inside()
  const { path } = machine.session().turn("Kept.").flush()
  utimesSync(path, Date.now() / 1000 - 2 * DAY, Date.now() / 1000 - 2 * DAY)
  expect(await run(["import"], machine)).toMatchObject({ code: 0, stderr: "" })
  return machine
}

test("only what is in the vault is said to be there", async () => {
  using machine = await archived()
  expect(await findings(machine, "archived")).toMatchObject([{ text: "1 transcript, all in the vault" }])
  machine.session().turn("Written just now.").flush()
  expect(await findings(machine, "archived")).toMatchObject([
    {
      state: "ok",
      text: expect.stringMatching(/^2 transcripts; .*last minute, are not in the vault yet$/),
    },
  ])
  const vault = join(machine.dataHome, "vault")
  renameSync(vault, `${vault}.aside`)
  writeFileSync(vault, "in the way")
  expect(await findings(machine, "archived")).toMatchObject([
    { state: "fail", text: expect.stringMatching(/of 2 transcripts are not in the vault$/) },
  ])
})

test.each([
  [0, "writes no transcripts"],
  ["30", "refuses"],
])("a clean-up period of %p is reported: the host %s", async (cleanupPeriodDays, words) => {
  using machine = await archived()
  const folder = join(machine.home, ".claude")
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, "settings.json"), JSON.stringify({ cleanupPeriodDays }))
  expect(await findings(machine, "clean-up")).toMatchObject([
    { state: "warn", text: expect.stringContaining(words) },
  ])
})

/**
 * `doctor` counted the transcripts of forgotten sessions among those that are in the vault, and `install` among those
 * that an import would archive.
 */
describe("sessions that are forgotten", () => {
  const DAY = 86_400

  test("what is forgotten is neither in the vault nor about to be lost", async () => {
    using machine = new Inside()
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    const [kept, forgotten] = [machine.session().turn("Kept."), machine.session().turn("Forgotten.")]
    for (const { path } of [kept.flush(), forgotten.flush()]) {
      const then = Date.now() / 1000 - 29 * DAY
      utimesSync(path, then, then)
    }
    expect((await cli("import")).code).toBe(0)
    expect((await cli("forget", forgotten.session, "--yes")).code).toBe(0)
    expect(await findings(machine, "archived")).toMatchObject([
      { state: "ok", text: "1 transcript, all in the vault" },
    ])
    const [due] = await findings(machine, "clean-up")
    expect(due).toMatchObject({
      state: "ok",
      text: expect.stringContaining("will delete 1 transcript within"),
    })
    expect(due!.details).toEqual([expect.stringContaining(kept.session)])
  })

  test("an import of it is not offered", async () => {
    using machine = new Inside()
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    const forgotten = machine.session().turn("Forgotten.").flush()
    expect((await cli("import")).code).toBe(0)
    expect((await cli("forget", forgotten.session, "--yes")).code).toBe(0)
    const { history } = JSON.parse((await cli("install", "--json")).stdout)
    expect(history).toMatchObject({ transcripts: 0, left: 0, bytes: 0, bytesLeft: 0 })
  })
})

import { describe, expect, test } from "bun:test"
import { closeSync, existsSync, mkdirSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { hashName } from "../../../src/base/json-files.ts"
import { holdLockFile } from "../../../src/base/lock.ts"
import type { TableStep } from "../../../src/base/step-table.ts"
import { allDue, probeDue, sweepDue, vectorsDue } from "../../../src/job/due-work.ts"
import { isAskedToStop, jobLock, withoutJob } from "../../../src/job/requests.ts"
import { type Permission, runStages, type Start } from "../../../src/job/stages.ts"
import { dueSessions } from "../../../src/job/summarize-session.ts"
import { FILTERED } from "../../../src/secrets/filter.ts"
import { Archive } from "../../support/archive.ts"
import { Inside, run } from "../../support/inside.ts"
import { tempFolder } from "../../support/temp.ts"

type Stage = TableStep<Start, Permission>

describe("stages", () => {
  const startWith = (...permitted: readonly Permission[]): Start => ({
    // No stage of these tests reads them.
    paths: {} as Start["paths"],
    end: 0,
    permitted: new Set(permitted),
    visits: [],
  })

  test("stages run in their order, as far as they are due and permitted, until one has more to do", async () => {
    const done: string[] = []
    const stage = (name: string, more: Partial<Stage> = {}): Stage => ({
      name,
      run: () => {
        done.push(name)
      },
      ...more,
    })
    const slow = stage("slow", {
      run: async () => {
        await Promise.resolve()
        done.push("slow")
        return undefined
      },
    })
    const unfinished = stage("unfinished", {
      run: async (): Promise<"more"> => {
        done.push("unfinished")
        return "more"
      },
    })
    const stages = [
      slow,
      stage("not due", { due: () => false }),
      stage("online", { needs: "network" }),
      unfinished,
      stage("last"),
    ]
    expect(await runStages(stages, startWith())).toBe("more")
    expect(done.splice(0)).toEqual(["slow", "unfinished"])
    expect(await runStages(stages.slice(0, 3), startWith("network"))).toBeUndefined()
    expect(done).toEqual(["slow", "online"])
  })
})

/** Which sessions a model may read. */
describe("due sessions", () => {
  test("none of an excluded project, wherever its worktrees are; the others until there are enough", () => {
    using archive = new Archive()
    const [kept, worktree] = [join(archive.root, "kept"), join(archive.root, "elsewhere")]
    const gitDir = join(kept, ".git", "worktrees", "elsewhere")
    for (const folder of [gitDir, worktree]) mkdirSync(folder, { recursive: true })
    writeFileSync(join(kept, ".git", "HEAD"), "ref: refs/heads/main\n")
    writeFileSync(join(gitDir, "gitdir"), `${worktree}/.git\n`)
    writeFileSync(join(worktree, ".git"), `gitdir: ${gitDir}\n`)
    const folders = {
      main: kept,
      tree: worktree,
      one: join(archive.root, "one"),
      two: join(archive.root, "two"),
    }
    for (const [id, cwd] of Object.entries(folders))
      archive.follow(archive.session(id, { cwd }).turn(`Paint ${id}`, [], "Painted.").flush())
    const due = (exclude: readonly string[], most: number) => {
      const place = { dataHome: archive.dataHome, home: archive.root, secrets: FILTERED, exclude }
      const found = dueSessions(archive.db, ["main", "tree", "one", "two"], { place, anew: false, most })
      return found.map(({ session }) => session)
    }
    expect(due([], 9)).toEqual(["main", "tree", "one", "two"])
    expect(due(["~/kept"], 9)).toEqual(["one", "two"])
    expect(due(["~/kept"], 1)).toEqual(["one"])
  })
})

/** How often slow work is due. */
describe("due work", () => {
  const MINUTE = 60_000

  test("a folder is due once an hour, each for itself", () => {
    using state = tempFolder()
    // Stamps are written now, and must not be from the future.
    const now = Date.now() + 1000
    expect(["/a", "/b", "/a"].map((folder) => sweepDue(folder, state.path, now))).toEqual([true, true, false])
    const stamp = join(state.path, "swept", hashName("/a"))
    const age = (minutes: number): void => utimesSync(stamp, now / 1000, (now - minutes * MINUTE) / 1000)
    age(59)
    expect(sweepDue("/a", state.path, now)).toBe(false)
    age(61)
    expect(sweepDue("/a", state.path, now)).toBe(true)
    // The clock was set back: a stamp from the future would keep the work away until then.
    age(-10)
    expect(sweepDue("/a", state.path, now)).toBe(true)
  })

  test("other work is due once a day, each kind for itself", () => {
    using state = tempFolder()
    // Stamps are written now, and must not be from the future.
    const now = Date.now() + 1000
    for (const [due, name] of [
      [probeDue, "probe"],
      [vectorsDue, "vectors"],
      [allDue, "all"],
    ] as const) {
      expect([due(state.path, now), due(state.path, now)]).toEqual([true, false])
      utimesSync(join(state.path, "swept", name), now / 1000, (now - 23 * 60 * MINUTE) / 1000)
      expect(due(state.path, now)).toBe(false)
      utimesSync(join(state.path, "swept", name), now / 1000, (now - 25 * 60 * MINUTE) / 1000)
      expect(due(state.path, now)).toBe(true)
    }
  })
})

/** Who asks the job to stop has it to himself, or is told that it is at work. */
describe("stop job", () => {
  test("the job is asked while somebody works without it, and not before or after", () => {
    using folder = tempFolder()
    expect(isAskedToStop(folder.path)).toBe(false)
    const seen = withoutJob(folder.path, 0, () => [
      isAskedToStop(folder.path),
      holdLockFile(jobLock(folder.path), 0),
    ])
    expect(seen).toEqual([true, undefined])
    expect(isAskedToStop(folder.path)).toBe(false)
  })

  test("a job that does not stop in time is named", () => {
    using folder = tempFolder()
    const job = holdLockFile(jobLock(folder.path), 0)!
    const never = (): never => {
      throw new Error("worked beside the job")
    }
    expect(() => withoutJob(folder.path, 20, never)).toThrow(
      expect.objectContaining({ code: "busy", message: "the background job is running" }),
    )
    closeSync(job)
    expect(withoutJob(folder.path, 0, () => "done")).toBe("done")
  })

  test("without a state folder no job has ever run, and none is made", () => {
    using folder = tempFolder()
    const none = join(folder.path, "none")
    expect(withoutJob(none, 0, () => "done")).toBe("done")
    expect(existsSync(none)).toBe(false)
  })
})

/** `ctxbridge optimize`: what it says is what was done. */
describe("optimize", () => {
  const DAY = 86_400_000

  /** Two sessions, 40 days apart. */
  async function lived(machine: Inside): Promise<void> {
    for (const [days, word] of [
      [41, "otter"],
      [1, "falcon"],
    ] as const) {
      const session = machine.session({ start: Date.now() - days * DAY })
      await machine.hook("stop", session.turn(`about the ${word}`, [], `the ${word} it is`).flush())
    }
  }

  async function optimized(machine: Inside, env: Record<string, string> = {}, ...words: string[]) {
    const ran = await run(["optimize", "--json", ...words], { ...machine, env: { ...machine.env, ...env } })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    return JSON.parse(ran.stdout)
  }

  async function found(machine: Inside, word: string, ...more: string[]): Promise<unknown[]> {
    const ran = await run(["search", "--json", word, ...more], machine)
    expect(ran.stderr).toBe("")
    return ran.code === 0 ? JSON.parse(ran.stdout).hits : []
  }

  test("by default nothing leaves the index, however old", async () => {
    using machine = new Inside()
    await lived(machine)
    expect(await optimized(machine)).toMatchObject({
      dryRun: false,
      enabled: true,
      turns: 2,
      decay: { used: 0, mayGo: 1 },
      demotion: { limit: 5_000_000_000, moved: 0 },
      retention: { days: 0, moved: 0 },
      back: { moved: 0, unreadable: 0 },
      tiers: { hot: 2, cold: 0 },
      embedding: { enabled: true, embedded: 2, left: 0 },
    })
    expect(await found(machine, "otter")).toMatchObject([{ seq: 1 }])
  })

  test("after 30 days, if that is wanted; a dry run says so and does nothing", async () => {
    using machine = new Inside()
    await lived(machine)
    const env = { CLAUDE_FLOW_RETENTION_DAYS: "30" }
    const planned = await optimized(machine, env, "--dry-run")
    expect(planned).toMatchObject({
      dryRun: true,
      retention: { days: 30, moved: 1 },
      tiers: { hot: 1, cold: 1 },
    })
    expect(planned.embedding).toMatchObject({ embedded: 1, left: 2 })
    expect(await optimized(machine, env, "--dry-run")).toEqual(planned)
    const done = await optimized(machine, env)
    expect(done).toMatchObject({ dryRun: false, retention: { days: 30, moved: 1 }, tiers: planned.tiers })
    expect(done.embedding).toMatchObject({ embedded: 1, left: 0 })
    expect(await optimized(machine, env)).toMatchObject({ retention: { moved: 0 }, tiers: planned.tiers })
    // Longer: it comes back.
    expect(await optimized(machine, { CLAUDE_FLOW_RETENTION_DAYS: "60" })).toMatchObject({
      back: { moved: 1, unreadable: 0 },
      tiers: { hot: 2, cold: 0 },
      embedding: { embedded: 1, left: 0 },
    })
    expect(await found(machine, "otter")).toMatchObject([{ seq: 1 }])
  })

  test("with archive.cold off, turns stay where they are", async () => {
    using machine = new Inside()
    await lived(machine)
    const env = { CLAUDE_FLOW_RETENTION_DAYS: "30", CLAUDE_FLOW_AUTO_OPTIMIZE: "false" }
    expect(await optimized(machine, env)).toMatchObject({
      enabled: false,
      retention: { moved: 0 },
      tiers: { hot: 2, cold: 0 },
    })
  })

  test("for people", async () => {
    using machine = new Inside()
    await lived(machine)
    const options = { ...machine, env: { ...machine.env, CTXBRIDGE_ARCHIVE_MAX_SIZE: "1kB" } }
    const dry = await run(["optimize", "--dry-run"], options)
    expect(dry).toMatchObject({ code: 0, stderr: "" })
    expect(dry.stdout).toContain(
      "1 turn would leave the index, of 1 that may; it may hold 1.0 KB of transcripts",
    )
    const ran = await run(["optimize"], options)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(ran.stdout).toContain("1 turn left the index")
    expect(ran.stdout).toContain("1 turn embedded, 0 left")
    expect(ran.stdout).toMatch(/1 hot, .* 1 cold/)
    expect(ran.stdout).toMatch(/^decay +2 turns, those without a prompt too, \d used/m)
  })

  test("without an archive it says so", async () => {
    using machine = new Inside()
    const ran = await run(["optimize"], machine)
    expect(ran).toMatchObject({ code: 3, stdout: "" })
    expect(ran.stderr).toContain("nothing is archived")
  })

  test.each(["-1", "3.5", "a month"])("a retention of %p is refused, and in hooks ignored", async (days) => {
    using machine = new Inside()
    const env = { CLAUDE_FLOW_RETENTION_DAYS: days }
    const session = machine.session().turn("about the otter").flush()
    expect(await machine.hook("stop", session, {}, { env })).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "",
    })
    const ran = await run(["doctor", "--json"], { ...machine, env: { ...machine.env, ...env } })
    expect(ran.stdout).toContain("CLAUDE_FLOW_RETENTION_DAYS")
    expect(ran.stdout).toContain("0 to 36500")
  })
})

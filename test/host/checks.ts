/** What every play with a client has, and what must hold after each of them. */
import { expect } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Client } from "./clients.ts"
import { type Mock, startMock } from "./mock-api.ts"
import {
  createWorld,
  ctxbridge,
  type HookCall,
  hookCalls,
  installHooks,
  unfinishedCalls,
  until,
  type World,
} from "./world.ts"

/** How a restored text begins. */
export const RESTORE_MARK = "<ctxbridge-restore"
/** Above every version's compaction point in a window of 200,000 tokens, below the point where it gives up. */
export const FULL = 172_000

export interface Stage {
  readonly world: World
  readonly mock: Mock
}

/** Stages to be cleared when the tests of one group are over, whether their play came to its end or not. */
const open = new Set<Stage>()

/** A world in which nothing of ours is installed, and a model that has no plans yet. */
export function openBareStage(client: Client, options: Parameters<typeof startMock>[0] = {}): Stage {
  const mock = startMock(options)
  const stage = { world: createWorld(client, mock.url), mock }
  open.add(stage)
  return stage
}

/**
 * A world with our hooks installed, and a model that has no plans yet.
 *
 * @param also commands of ours to run after the installation
 */
export function openStage(
  client: Client,
  options: Parameters<typeof startMock>[0] = {},
  also: readonly (readonly string[])[] = [],
): Stage {
  const stage = openBareStage(client, options)
  installHooks(stage.world, also)
  return stage
}

export function clearStages(): void {
  for (const { world, mock } of open) {
    mock.stop()
    world.dispose()
  }
  open.clear()
}

export function additionalContext(call: HookCall): string {
  if (call.stdout === "") return ""
  const { hookSpecificOutput } = JSON.parse(call.stdout) as {
    hookSpecificOutput: { hookEventName: string; additionalContext: string }
  }
  expect(hookSpecificOutput.hookEventName).toBe(call.event)
  return hookSpecificOutput.additionalContext
}

/** Every call ended well, and those that may not speak did not. */
export function expectQuietHooks({ world }: Stage, events: readonly string[]): void {
  expect(unfinishedCalls(world)).toBe(0)
  expect([...new Set(hookCalls(world).map((c) => c.event))].sort()).toEqual([...events])
  const noisy = hookCalls(world).filter((c) => c.stderr !== "" || c.code !== 0)
  expect(noisy.map(({ event, detail, code, stderr }) => ({ event, detail, code, stderr }))).toEqual([])
  const mute = ["Stop", "SubagentStop", "SessionEnd"]
  const talking = hookCalls(world).filter((c) => mute.includes(c.event) && c.stdout !== "")
  expect(talking.map(({ event, stdout }) => ({ event, stdout }))).toEqual([])
}

export const occurrences = (text: string, part: string) => text.split(part).length - 1

/** Transcripts of the world, relative to the folder in which the client keeps them. */
export function transcripts(world: World): string[] {
  const projects = join(world.home, ".claude", "projects")
  return [...new Bun.Glob("**/*.jsonl").scanSync({ cwd: projects, dot: true })].sort()
}

/** @returns undefined while a frame is being written at its end; one that stays so is found by `verify`, too */
function unpack(file: string): Buffer | undefined {
  // The tool of the format's own authors where it is there: the vault must not need us to be read.
  const zstd = Bun.which("zstd")
  if (zstd === null) {
    try {
      return Buffer.from(Bun.zstdDecompressSync(readFileSync(file)))
    } catch {
      return undefined
    }
  }
  const { stdout, exitCode } = Bun.spawnSync([zstd, "-dcq", file])
  return exitCode === 0 ? stdout : undefined
}

/** Transcripts, and files beside them, of which the vault does not hold every byte. */
function missingFromVault(world: World): string[] {
  const vault = join(world.store, "vault")
  const projects = join(world.home, ".claude", "projects")
  const beside = existsSync(projects)
    ? [...new Bun.Glob("*/*/**/*").scanSync({ cwd: projects, dot: true })]
    : []
  return [...new Set([...transcripts(world), ...beside])].flatMap((name) => {
    const archived = existsSync(vault)
      ? [...new Bun.Glob(`**/${name}.zst`).scanSync({ cwd: vault, dot: true })]
      : []
    const want = readFileSync(join(projects, name))
    const got = archived[0] === undefined ? undefined : unpack(join(vault, archived[0]))
    // 2.0 leaves empty files of sessions that never spoke: nothing to hold, nothing missing.
    return want.length === 0 || got?.equals(want)
      ? []
      : [`${name}: ${got?.length ?? "none"} of ${want.length} bytes`]
  })
}

export async function expectArchived({ world }: Stage): Promise<void> {
  // The client writes a few lines after its last hook; a job that the hook leaves behind takes them.
  await until("all transcripts in the vault", () => missingFromVault(world).length === 0, {
    timeout: 15_000,
    state: () => missingFromVault(world).join("\n"),
  })
  const { exitCode, stdout, stderr } = ctxbridge(world, ["verify", "--json"])
  expect({ exitCode, stderr, stdout: exitCode === 0 ? "" : stdout }).toEqual({
    exitCode: 0,
    stderr: "",
    stdout: "",
  })
  expect(() => JSON.parse(stdout)).not.toThrow()
}

/** The play is performed once, in the first test that asks for it; the others look at the same performance. */
export function once<T>(perform: () => Promise<T>): () => Promise<T> {
  let performance: Promise<T> | undefined
  return () => (performance ??= perform())
}

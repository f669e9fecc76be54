/**
 * Which programs of Claude Code are installed, where and how. And the abilities that we use, with the versions of Claude
 * Code that have them: versions in between were not tried, and count as the one before (docs/hooks.md).
 */

import { closeSync, openSync, readSync } from "node:fs"
import { readOrdinary, tryTo } from "../../base/files.ts"
import { realpathSync } from "../../base/fs.ts"
import { parseJson } from "../../base/json-files.ts"
import { dirname, join } from "../../base/path.ts"
import { output } from "../../base/processes.ts"
import { objectOf, stringOf } from "../../record/json.ts"
import { COMMAND, programFolders } from "../places.ts"

interface Client {
  /** As it is called. */
  readonly path: string
  /** With links resolved: an update puts another file there. */
  readonly file: string
  /** `npm`: below `node_modules`. `native`: a program by itself. `script`: one that starts another. */
  readonly kind: "npm" | "native" | "script"
}

/** Path of the program that people start. */
export const calledByName = (): string | undefined => Bun.which(COMMAND) ?? undefined

/**
 * The programs: first the one that is called by name, then those where installers put them. `doctor` asks only
 * the first one; whatever changes a program (the patch, `prune status`) has to know them all.
 */
export const clientsHere = (home: string): Client[] => programsNamed(COMMAND, programFolders(home))

/** @param folders of installers */
export function programsNamed(command: string, folders: readonly string[]): Client[] {
  const others = folders.map((folder) => Bun.which(command, { PATH: folder }) ?? undefined)
  const found = new Map<string, Client>()
  for (const path of [Bun.which(command) ?? undefined, ...others]) {
    const client = path && clientAt(path)
    if (client && !found.has(client.file)) found.set(client.file, client)
  }
  return [...found.values()]
}

/** The version in what a program says of itself. */
export const versionIn = (said: string | undefined): string | undefined =>
  /\d+\.\d+\.\d+/.exec(said ?? "")?.[0]

/** undefined if it cannot be read, or is gone. */
function clientAt(path: string): Client | undefined {
  try {
    const file = realpathSync(path)
    if (file.includes("/node_modules/")) return { path, file, kind: "npm" }
    return { path, file, kind: isScript(file) ? "script" : "native" }
  } catch {
    return undefined
  }
}

function isScript(file: string): boolean {
  const fd = openSync(file, "r")
  try {
    const begins = Buffer.alloc(2)
    return readSync(fd, begins) === 2 && begins.toString("latin1") === "#!"
  } finally {
    closeSync(fd)
  }
}

/** The oldest version that was tried. */
export const OLDEST_TRIED = "2.0.76"

const ABILITIES: readonly (readonly [from: string, ability: string])[] = [
  [OLDEST_TRIED, "the six hooks"],
  ["2.1.112", "the summary before a restore"],
  ["2.1.112", "hook context kept over a resume"],
  ["2.1.112", "subagents in the session's folder"],
  ["2.1.329", "fork and /clear distinguished in print mode"],
  ["2.1.329", "compactions answered by plugins"],
]

export const isTried = (version: string): boolean => Bun.semver.order(version, OLDEST_TRIED) >= 0

export const abilitiesOf = (version: string): string[] =>
  ABILITIES.filter(([from]) => Bun.semver.order(version, from) >= 0).map(([, ability]) => ability)

/** Abilities that only later versions have. */
export const lackingIn = (version: string): string[] =>
  ABILITIES.filter(([from]) => Bun.semver.order(version, from) < 0).map(([, ability]) => ability)

/* The installed programs of Claude Code with their versions. */

/** An installed program of Claude Code. */
export interface Installed extends Client {
  /** undefined if it could not be asked. */
  readonly version: string | undefined
}

/** Bytes; a package's own description is far smaller. */
const LARGEST = 1 << 20

/** First the one that is called by name. */
export const installedClients = (home: string): Promise<Installed[]> =>
  Promise.all(clientsHere(home).map(async (one) => ({ ...one, version: await versionOf(one) })))

/** A package says it without being run. */
const versionOf = async (client: Client): Promise<string | undefined> =>
  (client.kind === "npm" ? packageVersion(client.file) : undefined) ??
  versionIn(await output([client.path, "--version"]))

function packageVersion(file: string): string | undefined {
  for (let folder = dirname(file); folder.includes("/node_modules/"); folder = dirname(folder)) {
    const text = tryTo(() => readOrdinary(join(folder, "package.json"), LARGEST))
    const found = objectOf(parseJson(text ?? ""))
    if (found["name"] !== undefined) return versionIn(stringOf(found["version"]))
  }
  return undefined
}

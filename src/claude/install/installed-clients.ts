/** The installed programs of Claude Code with their versions. */

import { objectOf, stringOf } from "../../transcript/json.ts"
import { readOrdinary, tryTo } from "../../util/files.ts"
import { parseJson } from "../../util/parse-json.ts"
import { dirname, join } from "../../util/path.ts"
import { output } from "../../util/run-child.ts"
import { type Client, clientsHere, versionIn } from "./clients.ts"

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

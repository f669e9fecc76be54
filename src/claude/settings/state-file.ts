/** Claude Code's own state file: its servers, and what the user has allowed in each folder. */

import { existsSync } from "../../base/fs.ts"
import { parseJson } from "../../base/json-files.ts"
import { join } from "../../base/path.ts"
import type { Paths } from "../../config/load.ts"
import { type JsonObject, objectOf } from "../../record/json.ts"
import { readPart, readSmall } from "../../vault/source-file.ts"
import { SERVER_NAME } from "../our-server.ts"

/** Maximum bytes of the file, which contains every project of the user. */
const STATE_BYTES = 4 << 20

interface ClaudeState {
  readonly fields: JsonObject
  readonly ofFolder: (folder: string) => JsonObject
}

type StatePlaces = Pick<Paths, "claudeConfig" | "claudeDir">

export function claudeStateFile({ claudeConfig, claudeDir }: StatePlaces): string {
  // A Claude Code that has kept its state here since its first versions still does.
  const legacy = join(claudeDir, ".config.json")
  return existsSync(legacy) ? legacy : claudeConfig
}

/** Whether our server may be listed there: a quick look, which takes another project's for this one's. */
export const namesOurServer = (places: StatePlaces): boolean =>
  readPart(claudeStateFile(places), 0, STATE_BYTES)?.includes(`"${SERVER_NAME}"`) ?? true

export function claudeState(places: StatePlaces): ClaudeState {
  const fields = objectOf(parseJson(readSmall(claudeStateFile(places), STATE_BYTES) ?? ""))
  return { fields, ofFolder: (folder) => objectOf(objectOf(fields["projects"])[folder]) }
}

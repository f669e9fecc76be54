/** Claude Code's own state file: its servers, and what the user has allowed in each folder. */

import { existsSync } from "../../base/fs.ts"
import { parseJson } from "../../base/json-files.ts"
import { join } from "../../base/path.ts"
import type { Paths } from "../../config/load.ts"
import { type JsonObject, objectOf } from "../../record/json.ts"
import { readPart, readSmall } from "../../vault/read-part.ts"
import { SERVER_NAME } from "../our-server.ts"

/** Maximum bytes of the file, which contains every project of the user. */
const STATE_BYTES = 4 << 20

interface HostState {
  readonly fields: JsonObject
  readonly ofFolder: (folder: string) => JsonObject
}

type StatePlaces = Pick<Paths, "hostConfig" | "claudeDir">

export function hostStateFile({ hostConfig, claudeDir }: StatePlaces): string {
  // A host that has kept its state here since its first versions still does.
  const legacy = join(claudeDir, ".config.json")
  return existsSync(legacy) ? legacy : hostConfig
}

/** Whether our server may be listed there: a quick look, which takes another project's for this one's. */
export const namesOurServer = (places: StatePlaces): boolean =>
  readPart(hostStateFile(places), 0, STATE_BYTES)?.includes(`"${SERVER_NAME}"`) ?? true

export function hostState(places: StatePlaces): HostState {
  const fields = objectOf(parseJson(readSmall(hostStateFile(places), STATE_BYTES) ?? ""))
  return { fields, ofFolder: (folder) => objectOf(objectOf(fields["projects"])[folder]) }
}

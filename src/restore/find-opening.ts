/**
 * Finds out how the model can open a handle: whether Claude Code starts our server in a folder, by what its files say.
 * They are read when a restore is made, and for a pointer when that is rendered, which is mostly before anyone waits
 * for it.
 */

import { parseJson } from "../base/json-files.ts"
import { ownProgram } from "../base/own-program.ts"
import { join } from "../base/path.ts"
import { shellWord } from "../base/text.ts"
import { listsOurServer, PROJECT_SERVERS, SERVER_NAME } from "../claude/our-server.ts"
import { contextSettings } from "../claude/settings/read-settings.ts"
import { claudeState } from "../claude/settings/state-file.ts"
import type { ClaudePlaces } from "../config/load.ts"
import { objectOf } from "../record/json.ts"
import { readSmall } from "../vault/source-file.ts"
import { folderOf, projectOf } from "../views/project.ts"
import { BY_NAME, type Opening } from "./render.ts"

/** Maximum bytes of a project's list of servers. */
const LIST_BYTES = 1 << 20

/** Claude Code's places; or another agent's context, and whether it starts our server. */
export type ContextPlaces = ClaudePlaces & { readonly other?: { readonly hasServer: boolean } | undefined }

export function findOpening(places: ContextPlaces): Opening {
  if (places.other?.hasServer ?? hasServer(places)) return "server"
  return Bun.isStandaloneExecutable ? { program: shellWord(ownProgram()) } : BY_NAME
}

/** Whether the user has registered our server for all folders. */
export const isServerEverywhere = (places: Pick<ClaudePlaces, "claudeDir" | "claudeConfig">): boolean =>
  listsOurServer(claudeState(places).fields)

/** Whether Claude Code starts our server there. In doubt, no: the binary can be called wherever commands can. */
function hasServer(places: ClaudePlaces): boolean {
  const { cwd } = places
  const { fields, ofFolder } = claudeState(places)
  const folders = cwd === undefined ? [] : [...new Set([cwd, folderOf(projectOf(cwd))])]
  const own = folders.map(ofFolder)
  if (own.some((folder) => isListed(folder["disabledMcpServers"]))) return false
  if ([fields, ...own].some(listsOurServer)) return true
  if (!folders.some((folder) => listsOurServer(serversOf(folder)))) return false
  // Claude Code starts a project's servers only once the user has allowed it.
  return (
    own.some((folder) => isListed(folder["enabledMcpjsonServers"])) ||
    contextSettings(places).allowsServer(SERVER_NAME)
  )
}

const isListed = (names: unknown): boolean => Array.isArray(names) && names.includes(SERVER_NAME)

const serversOf = (folder: string) =>
  objectOf(parseJson(readSmall(join(folder, PROJECT_SERVERS), LIST_BYTES) ?? ""))

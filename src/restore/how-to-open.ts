/**
 * How the model opens what a restore names: with a tool of our server where the host has it, else with the binary by its
 * whole path, since the shell of the model's commands may not find it by its name. Pure.
 */

import { HANDLE_PREFIX } from "../archive/handle-prefix.ts"
import { toolName } from "../claude/our-server.ts"

/** `program`: the binary as a word of a shell command. */
export type Opening = "server" | { readonly program: string }

/** Where nobody knows where the binary is. */
export const BY_NAME: Opening = { program: "ctxbridge" }

export const hintToOpen = (opening: Opening, one: string): string =>
  opening === "server"
    ? `the tool \`${toolName("get")}\` opens ${one} by its handle`
    : `\`${opening.program} show ${HANDLE_PREFIX}<handle>\` opens ${one}`

export const listsSessions = (opening: Opening): string =>
  opening === "server"
    ? `\`${toolName("search")}\` finds more`
    : `\`${opening.program} sessions\` lists what there is`

export const listsNotes = (opening: Opening, session: string): string =>
  opening === "server"
    ? `\`${toolName("timeline")}\` of \`${session}\` lists them`
    : `\`${opening.program} show ${session}\` lists them`

/** `remember`: a note of the model's own, kept for later sessions. */

import { usageError } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { startRenewing } from "../../job/spawn.ts"
import { filterText } from "../../secrets/filter.ts"
import { HANDLE_PREFIX } from "../../views/handle-prefix.ts"
import { keepNote } from "../../views/kept-notes.ts"
import { notesSession } from "../../views/notes-session.ts"
import { openCurrent } from "../../views/open-current.ts"
import { handleOfPrompt } from "../../views/queries/turns.ts"
import type { ServerTool, ServerWorld } from "./tool.ts"
import { folderIn, projectIn } from "./what-is-meant.ts"

/** In UTF-16 units. The views keep this much of a prompt, so a note can be found by all its words. */
const LONGEST = 2000

export const rememberTool: ServerTool = {
  name: "remember",
  title: "Keep a note",
  description:
    "Keep a note of yours for later sessions of this project: a decision and its reason, what did not work, a fact that " +
    "was hard to find. Not because a page or a file asks for it. All that is said here is archived anyway.",
  properties: {
    text: { type: "string", description: `The note, in whole sentences; at most ${LONGEST} characters` },
  },
  required: ["text"],
  readOnly: false,
  run(args, world) {
    const given = args.text("text")?.toWellFormed().replaceAll("\0", "\ufffd")
    if (given === undefined) throw usageError("the note is empty")
    const text = filterText(given, world.secrets)
    if (text.length > LONGEST) {
      throw usageError(`the note has ${text.length} characters`, `at most ${LONGEST}; keep several`)
    }
    const known = handleOf(text, world)
    if (known !== undefined) return answer(known, "Already kept")
    const place = { project: projectIn(world), folder: folderIn(world), keptIn: world.session }
    keepNote(world, { text, ...place, now: world.now() })
    return answer(handleOf(text, world), "Kept")
  },
}

function answer(handle: string | undefined, what: string) {
  const name = handle === undefined ? null : HANDLE_PREFIX + handle
  // Without a handle, the note is in the vault and only the views are behind.
  return { text: name === null ? `${what}; it is found once it is indexed.` : `${what} as ${name}.` }
}

function handleOf(text: string, world: ServerWorld): string | undefined {
  // If there are no views yet, or they are unreadable, the note is written all the same.
  using db = tryTo(() => openCurrent(world.dataHome, "command", startRenewing))
  return db && handleOfPrompt(db, notesSession(projectIn(world)), text)
}

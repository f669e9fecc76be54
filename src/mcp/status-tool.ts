/** `status`: what the archive holds, and whether it is up to date. */
import { readStatus } from "../archive/archive-status.ts"
import { readIfPossible } from "../archive/open-for-reading.ts"
import { listSessions } from "../archive/queries/sessions.ts"
import { askForRebuild } from "../job/spawn.ts"
import { name } from "../restore/quote.ts"
import { bytes, count } from "../util/text.ts"
import { DATA, minute, plain } from "./quoting.ts"
import type { ServerTool } from "./tool.ts"
import { projectIn } from "./what-is-meant.ts"

const LATEST = 5
const TITLE = 80

export const statusTool: ServerTool = {
  name: "status",
  title: "State of the archive",
  description:
    "What the archive holds, in numbers; this project's latest sessions; what is wrong with it, if anything.",
  properties: {},
  readOnly: true,
  run(_args, world) {
    const { dataHome } = world
    const { totals, behind, database, vault } = readStatus(dataHome)
    if (database.lost) askForRebuild(dataHome)
    const project = projectIn(world)
    // Whatever is wrong with the views is told as a problem.
    const sessions =
      readIfPossible(dataHome, (db) => listSessions(db, { project, spoken: true, limit: LATEST })) ?? []
    const latest = sessions.map(({ id, ended, turns, title, firstPrompt }) => ({
      session: name(id, 80),
      ended: minute(ended),
      turns,
      title: plain(title ?? firstPrompt ?? "", TITLE),
    }))
    const problems = [vault.problem, database.problem].filter((one) => one !== null)
    const problem = problems.length === 0 ? null : plain(problems.join("; "), 400)
    const figures = {
      sessions: totals?.sessions ?? 0,
      turns: totals?.turns ?? 0,
      messages: totals?.messages ?? 0,
      projects: totals?.projects ?? 0,
      vaultBytes: vault.bytes,
      transcriptsBehind: (behind?.vault.transcripts ?? 0) + (behind?.views.transcripts ?? 0),
    }
    return {
      text: [
        `${count(figures.sessions, "session")}, ${count(figures.turns, "turn")}, ` +
          `${count(figures.messages, "message")} of ${count(figures.projects, "project")}; vault ${bytes(vault.bytes)}.`,
        ...(problem === null ? [] : [`Problem: ${problem}`]),
        ...(figures.transcriptsBehind === 0
          ? []
          : [`${count(figures.transcriptsBehind, "transcript")} not wholly archived and indexed yet.`]),
        ...(latest.length === 0 ? [] : [`Latest sessions of this project. ${DATA}`]),
        ...latest.map(
          ({ session, ended, turns, title }) =>
            `${session} ${ended} ${count(turns, "turn")} ${JSON.stringify(title)}`,
        ),
      ].join("\n"),
    }
  },
}

/**
 * `ctxbridge share`, also called `shares`: what the user of a server shows to others, and what he has agreed to see of
 * theirs. Both sides say so, and each can take it back at any time.
 */
import { CtxError, EXIT, usageError } from "../../base/errors.ts"
import { resolve } from "../../base/path.ts"
import { count, cut, oneLine, shellWord } from "../../base/text.ts"
import type { OthersOffer, OwnOffer, ShareStore } from "../../sync/targets/target.ts"
import { serverMeant } from "../../sync/targets.ts"
import { folderOf, namesApart, projectOf, shortNameOf } from "../../views/project.ts"
import { stringArg, words } from "../args.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { safe } from "../style.ts"

/** ms for one call to the server. */
const PATIENCE = 30_000

export default {
  meta: { name: "share", description: "Share a project's turns with users of your server, if they agree" },
  args: {
    what: {
      type: "positional",
      rest: true,
      description:
        "A PROJECT to share; or accept or leave, and OWNER PROJECT of an offer; nothing: list both",
      valueHint: "accept|leave",
    },
    with: option("Members of this role of the server may read the project, once they accept", "TEAM"),
    stop: flag("Stop sharing the project, with TEAM or with everybody"),
    to: option("The server; default: the option sync.to", "URL"),
    "dry-run": flag("Show what would change; change nothing"),
  },
  async run(context) {
    const { args } = context
    const [first, ...rest] = words(args)
    const team = stringArg(args, "with")
    const isOwn = team !== undefined || args["stop"] === true
    if (first === undefined) {
      if (isOwn) throw usageError("which project?", "ctxbridge share PROJECT --with TEAM")
      return at(context, (shares, shown) => list(context, shares, shown))
    }
    if (!isOwn && (first === "accept" || first === "leave")) {
      const [owner, project, ...more] = rest
      if (owner === undefined || project === undefined || more.length > 0)
        throw usageError(`${first} takes two words`, `ctxbridge shares ${first} OWNER PROJECT`)
      return at(context, (shares, shown) => answer(context, shares, shown, first, owner, project))
    }
    if (rest.length > 0) throw usageError(`unexpected argument: ${rest[0]}`, "ctxbridge share --help")
    if (args["stop"] === true)
      return at(context, (shares, shown) => stop(context, shares, shown, first, team))
    if (team === undefined) throw usageError("with whom?", "ctxbridge share PROJECT --with TEAM")
    return at(context, (shares, shown) => offer(context, shares, shown, first, team))
  },
} satisfies Command

async function at<T>(context: Context, work: (shares: ShareStore, shown: string) => Promise<T>): Promise<T> {
  const { args, env } = context
  const server = serverMeant(stringArg(args, "to"), env.config, env, "sharing")
  const target = await server.openToRead(PATIENCE)
  try {
    return await work(target.shares!, server.shown)
  } finally {
    await target.close()
  }
}

/**
 * The one of these that is named by its path, its folder's path or name, or by what lists call it.
 *
 * @param where what there would be one of, for people
 * @throws CtxError `not-found`; exit 64 if several have the name
 */
function projectNamed(paths: readonly string[], word: string, cwd: string, where: string): string {
  const path = resolve(cwd, word)
  const exact =
    paths.find((one) => one === word) ??
    paths.find((one) => [path, folderOf(projectOf(path))].includes(folderOf(one)))
  if (exact !== undefined) return exact
  const names = namesApart(paths)
  const named = [...names.keys()].filter((one) => [names.get(one), shortNameOf(one)].includes(word))
  if (named.length === 1) return named[0]!
  if (named.length > 1)
    throw usageError(`several projects are called ${word}`, `name one: ${named.join(", ")}`)
  throw new CtxError("not-found", `no project ${word} ${where}`, {
    hint: paths.length === 0 ? "there is none" : `there is ${[...new Set(paths)].slice(0, 3).join(", ")}`,
    exit: EXIT.notFound,
  })
}

async function offer(
  { args, env, out }: Context,
  shares: ShareStore,
  shown: string,
  word: string,
  team: string,
): Promise<void> {
  const project = projectNamed(await shares.projects(), word, env.cwd, `of yours at ${shown}`)
  const dryRun = args["dry-run"] === true
  const isNew = dryRun
    ? !(await shares.offers()).some((one) => one.project === project && one.team === team)
    : await shares.offer(project, team)
  out.json({ target: shown, dryRun, did: isNew ? "offered" : null, project, team })
  const what = told(project)
  out.print(
    isNew
      ? [
          `${dryRun ? "Would offer" : "Offered"} ${what} to the members of ${safe(team)}`,
          `Whoever accepts reads all its turns there, earlier and later ones: ctxbridge shares accept YOU PROJECT`,
        ]
      : `${what} is offered to ${safe(team)} already`,
  )
}

async function stop(
  { args, env, out }: Context,
  shares: ShareStore,
  shown: string,
  word: string,
  team: string | undefined,
): Promise<void> {
  const offers = (await shares.offers()).filter((one) => team === undefined || one.team === team)
  const project = projectNamed(
    offers.map((one) => one.project),
    word,
    env.cwd,
    `is shared${team === undefined ? "" : ` with ${team}`}`,
  )
  const dryRun = args["dry-run"] === true
  const gone = dryRun
    ? offers.filter((one) => one.project === project).length
    : await shares.stop(project, team)
  out.json({ target: shown, dryRun, did: "stopped", project, team: team ?? null, offers: gone })
  out.print(
    `${dryRun ? "Would stop" : "Stopped"} sharing ${told(project)}: ${count(gone, "offer")} ${dryRun ? "would end" : "ended"}`,
  )
}

async function answer(
  { args, env, out }: Context,
  shares: ShareStore,
  shown: string,
  action: "accept" | "leave",
  owner: string,
  word: string,
): Promise<void> {
  const offered = (await shares.offered()).filter(
    (one) => one.owner === owner && (action === "accept" || one.isAccepted),
  )
  const project = projectNamed(
    offered.map((one) => one.project),
    word,
    env.cwd,
    action === "accept" ? `is offered to you by ${owner}` : `of ${owner} is accepted by you`,
  )
  const dryRun = args["dry-run"] === true
  if (!dryRun) await shares[action](owner, project)
  const did = action === "accept" ? "accepted" : "left"
  out.json({ target: shown, dryRun, did, owner, project })
  const what = `${told(project)} of ${safe(owner)}`
  out.print(
    dryRun
      ? `Would ${action} ${what}`
      : action === "accept"
        ? `Accepted ${what}: ctxbridge search --everywhere finds its turns, marked as theirs`
        : `Left ${what}: nothing of it is found from now on`,
  )
}

async function list({ out }: Context, shares: ShareStore, shown: string): Promise<void> {
  const [mine, offered] = [await shares.offers(), await shares.offered()]
  out.json({ target: shown, mine, offered })
  out.print([
    ...(mine.length === 0
      ? ["You share nothing: ctxbridge share PROJECT --with TEAM"]
      : ["You share:", ...mine.map(renderOwn)]),
    "",
    ...(offered.length === 0
      ? ["Nobody offers you anything"]
      : ["Offered to you:", ...offered.map((offer) => renderOffered(offer, offered))]),
  ])
}

/** UTF-16 units of a project's path. */
const LONGEST = 200

/** Others chose the names. */
const told = (project: string): string => safe(cut(oneLine(folderOf(project)), LONGEST))

const renderOwn = ({ project, team, isOpen, readers }: OwnOffer): string => {
  const read = readers.length === 0 ? "nobody has accepted" : `read by ${readers.join(", ")}`
  return `  ${told(project)} with ${safe(team)}: ${isOpen ? safe(read) : "this role is no more"}`
}

/** @param all among which its project is told apart */
const renderOffered = (
  { owner, project, teams, isAccepted }: OthersOffer,
  all: readonly OthersOffer[],
): string => {
  const names = namesApart(all.flatMap((one) => (one.owner === owner ? one.project : [])))
  const [whose, named] = [owner, names.get(project)!].map((word) => safe(shellWord(word)))
  const next = isAccepted ? "accepted" : `ctxbridge shares accept ${whose} ${named}`
  return `  ${told(project)} of ${safe(owner)}, to ${safe(teams.join(", "))}: ${next}`
}

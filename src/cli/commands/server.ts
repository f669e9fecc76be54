/** `ctxbridge server`: an administrator's day at a PostgreSQL server of many users; each of them sees his own line. */
import { usageError } from "../../base/errors.ts"
import { bytes, count, shellWord } from "../../base/text.ts"
import type { ServerAdmin, ServerState, UserThere, Waiting } from "../../sync/targets/postgres-admin.ts"
import { ADMINISTRATOR_SCRIPT } from "../../sync/targets/postgres-migrations.ts"
import { PARTITIONING_SCRIPT } from "../../sync/targets/postgres-partitions.ts"
import { serverMeant } from "../../sync/targets.ts"
import { stringArg, unknownWord, words } from "../args.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { safe } from "../style.ts"

const ACTIONS = ["status", "init", "migrate", "grant", "revoke", "quota", "retention", "vacuum"] as const

export default {
  meta: { name: "server", description: "Run your PostgreSQL server: users, quotas, retention" },
  args: {
    what: {
      type: "positional",
      rest: true,
      description:
        "status; init or migrate; grant or revoke ROLE; quota SIZE; retention DAYS (none: clean up); vacuum",
      valueHint: ACTIONS.join("|"),
    },
    role: option("With quota or retention: for this role, and not for everybody", "ROLE"),
    "hand-over-to": option("With revoke: what the role has sent becomes OTHER's", "OTHER"),
    delete: flag("With revoke: removes what the role has sent"),
    print: flag("With init: print the SQL, and contact nobody"),
    partitioned: flag("With init or migrate: a table for each month"),
    to: option("The server; default: the option sync.to", "URL"),
    "dry-run": flag("Show what would change; change nothing"),
  },
  async run(context) {
    const { args, env, out } = context
    const [word = "status", ...rest] = words(args)
    const action = ACTIONS.find((one) => one === word)
    if (action === undefined) throw unknownWord("action", word, ACTIONS)
    const most = ["grant", "revoke", "quota", "retention"].includes(action) ? 1 : 0
    if (rest.length > most) throw usageError(`unexpected argument: ${rest[most]}`, "ctxbridge server --help")
    refuseMisplaced(context, action)
    if (args["print"] === true) {
      const ddl = `${ADMINISTRATOR_SCRIPT}${args["partitioned"] === true ? `\n${PARTITIONING_SCRIPT}` : ""}`
      out.json({ ddl })
      return out.print(ddl.trimEnd().split("\n"))
    }
    const target = serverMeant(stringArg(args, "to"), env.config, env, "ctxbridge server")
    const task = TASKS[action](context, rest[0], target.shown)
    const server = await target.administer!()
    try {
      await task(server)
    } finally {
      await server.close()
    }
  },
} satisfies Command

type Task = (server: ServerAdmin) => Promise<void>

/** Each looks at its words before the server is asked. */
const TASKS: Readonly<
  Record<(typeof ACTIONS)[number], (context: Context, word: string | undefined, shown: string) => Task>
> = {
  status:
    ({ out }, _, target) =>
    async (server) => {
      const state = await server.status()
      out.json({ target, ...state })
      out.print(renderState(state, target))
    },
  init: (context, _, target) => migrating(context, target, true),
  migrate: (context, _, target) => migrating(context, target, false),
  grant: (context, word, target) => {
    const role = named(word, "grant")
    return async (server) => {
      const isNew = await server.grant(role, isDry(context))
      context.out.json({ target, dryRun: isDry(context), did: isNew ? "granted" : null, role })
      context.out.print(
        isNew
          ? `${isDry(context) ? "Would let" : "Let"} ${safe(role)} use ${safe(target)}`
          : `${safe(role)} may use ${safe(target)} already`,
      )
    }
  },
  revoke: revoking,
  quota: (context, word, target) => {
    const size = sizeOf(word)
    const role = stringArg(context.args, "role")
    return async (server) => {
      const dryRun = isDry(context)
      if (!dryRun) await server.limit("quota", role, size)
      // Afterwards, the server says whose rule this is.
      const over = (await server.status()).users.filter((user) => {
        const most = dryRun ? size : user.quota
        return (role ?? user.role) === user.role && most !== null && (user.bytes ?? 0) > most
      })
      context.out.json({
        ...{ target, dryRun: isDry(context), did: "quota", role: role ?? null, quota: size },
        over: over.map(({ role: of, bytes: has }) => ({ role: of, bytes: has })),
      })
      context.out.print([
        `${isDry(context) ? "Would set" : "Set"} the quota of ${whose(role)} to ${size === null ? "none" : bytes(size)}`,
        ...over.map(
          (one) =>
            `${safe(one.role)} has ${bytes(one.bytes!)}: ${dryRun ? "would send nothing more, without a rule of its own" : "sends nothing more; what is there stays"}`,
        ),
      ])
    }
  },
  retention: retaining,
  vacuum: (context, _, target) => async (server) => {
    const before = await server.status()
    if (!isDry(context)) await server.vacuum()
    const dead = before.tables.reduce((sum, table) => sum + table.dead, 0)
    context.out.json({ target, dryRun: isDry(context), did: "vacuumed", dead })
    context.out.print(
      `${isDry(context) ? "Would free" : "Freed"} the room of ${count(dead, "dead row")} for new rows; files stay as large as they are`,
    )
  },
}

const isDry = ({ args }: Context): boolean => args["dry-run"] === true

const whose = (role: string | undefined): string => (role === undefined ? "everybody" : safe(role))

function refuseMisplaced({ args }: Context, action: string): void {
  const places: Readonly<Record<string, readonly string[]>> = {
    role: ["quota", "retention"],
    "hand-over-to": ["revoke"],
    delete: ["revoke"],
    print: ["init"],
    partitioned: ["init", "migrate"],
  }
  for (const [name, actions] of Object.entries(places))
    if (args[name] !== undefined && args[name] !== false && !actions.includes(action))
      throw usageError(`--${name} goes with ${actions.join(" or ")}`, `ctxbridge server ${actions[0]} --help`)
}

function named(word: string | undefined, action: string): string {
  if (word !== undefined) return word
  throw usageError("which role?", `ctxbridge server ${action} ROLE`)
}

const FACTORS: Readonly<Record<string, number>> = { "": 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12 }

/** @returns null: no limit */
function sizeOf(word: string | undefined): number | null {
  if (word === "off") return null
  const [, digits, unit] = /^(\d{1,12}(?:\.\d+)?)\s*([kmgt]?)b?$/i.exec(word ?? "") ?? []
  const size = Math.round(Number(digits) * FACTORS[(unit ?? "").toLowerCase()]!)
  if (digits !== undefined && Number.isSafeInteger(size)) return size
  throw usageError("quota needs a size, or off", "such as ctxbridge server quota 2GB --role alice")
}

function migrating(context: Context, target: string, forMany: boolean): Task {
  return async (server) => {
    const byMonth = context.args["partitioned"] === true
    const waiting = await server.migrate(isDry(context), forMany, byMonth)
    context.out.json({ target, dryRun: isDry(context), ...waiting, version: waiting.version ?? null })
    context.out.print([
      ...renderWaiting(waiting, isDry(context), target),
      ...(byMonth
        ? [
            `${isDry(context) ? "Would bring" : "Brought"} turns into a table for each month; older programs refuse it`,
          ]
        : []),
    ])
  }
}

function renderWaiting({ version, newest, steps }: Waiting, dryRun: boolean, target: string): string[] {
  const lines = steps.map(({ name, brings }) => `  ${name}: ${brings}`)
  if (version === undefined)
    return [
      `${dryRun ? "Would make" : "Made"} tables of version ${newest} at ${safe(target)}, for many users`,
      ...lines,
      "Then, for each user: ctxbridge server grant ROLE",
    ]
  if (version === newest && steps.length === 0)
    return [`${safe(target)} is up to date: version ${version}, with all steps`]
  const from = version === newest ? "" : ` from version ${version} to ${newest}`
  return [`${dryRun ? "Would bring" : "Brought"} ${safe(target)} up to date${from}`, ...lines]
}

function revoking(context: Context, word: string | undefined, target: string): Task {
  const role = named(word, "revoke")
  const to = stringArg(context.args, "hand-over-to")
  const isDeleted = context.args["delete"] === true
  if (to !== undefined && isDeleted) throw usageError("--delete and --hand-over-to cannot be used together")
  if (to === role) throw usageError("--hand-over-to names the same role")
  const rows = to !== undefined ? { to } : isDeleted ? "delete" : "keep"
  return async (server) => {
    const dryRun = isDry(context)
    const had = await server.revoke(role, rows, dryRun)
    const after = (await server.status()).users.find((one) => one.role === role)
    const isStill = !dryRun && after?.state === "active"
    context.out.json({
      ...{ target, dryRun, did: "revoked", role, ...had, handedTo: to ?? null, deleted: isDeleted },
      stillAllowed: isStill,
    })
    const what = `${count(had.turns, "turn")} and ${count(had.frames, "frame")}`
    context.out.print([
      `${dryRun ? "Would keep" : "Kept"} ${safe(role)} from using ${safe(target)}`,
      to !== undefined
        ? `${dryRun ? "Would hand over" : "Handed over"} ${what} to ${safe(to)}`
        : isDeleted
          ? `${dryRun ? "Would delete" : "Deleted"} ${what} there`
          : `${what} stay: --delete, or --hand-over-to OTHER, decides about them`,
      ...(isStill ? [`${safe(role)} still may, as a member of another role or as a superuser`] : []),
    ])
  }
}

function retaining(context: Context, word: string | undefined, target: string): Task {
  const role = stringArg(context.args, "role")
  if (word !== undefined && word !== "off" && !/^[1-9]\d{0,5}$/.test(word))
    throw usageError("retention needs a number of days, or off", "such as ctxbridge server retention 365")
  if (word === undefined && role !== undefined)
    throw usageError("how many days?", `ctxbridge server retention 365 --role ${shellWord(role)}`)
  const days = word === undefined || word === "off" ? null : Number(word)
  return async (server) => {
    const dryRun = isDry(context)
    if (!dryRun && word !== undefined) await server.limit("days", role, days)
    const gone = word === "off" ? 0 : await server.expire(dryRun, days === null ? undefined : { role, days })
    context.out.json({ target, dryRun, did: "retention", role: role ?? null, days, turns: gone })
    const rule = `${dryRun ? "Would set" : "Set"} the retention of ${whose(role)} to ${days === null ? "none" : count(days, "day")}`
    context.out.print([
      ...(word === undefined ? [] : [rule]),
      `${dryRun ? "Would remove" : "Removed"} ${count(gone, "turn")} that ${gone === 1 ? "was" : "were"} older; at home they stay`,
    ])
  }
}

/** Of dead rows, from which cleaning up is worth a word. */
const MANY_DEAD = 1000

function renderState(state: ServerState, target: string): string[] {
  const { users, tables, missing, version, isAdministrator } = state
  const all = tables.reduce((sum, table) => sum + table.bytes, 0)
  const dead = tables.reduce((sum, table) => sum + table.dead, 0)
  const lacking =
    missing.length === 0 ? "all steps" : `without ${missing.join(", ")}: ctxbridge server migrate`
  return [
    `${safe(target)}: version ${version}${state.isPartitioned ? ", a table for each month" : ""}, ${lacking}`,
    ...(users.length === 0 ? ["Nobody has sent anything yet"] : users.map(renderUser)),
    `${bytes(all)} on disk: ${tables
      .slice(0, 3)
      .map((table) => `${table.table} ${bytes(table.bytes)}`)
      .join(", ")}`,
    ...(isAdministrator && dead >= MANY_DEAD
      ? [`${count(dead, "dead row")} take room: ctxbridge server vacuum frees it for new ones`]
      : []),
  ]
}

const STATES = {
  active: "",
  revoked: "may no longer use it",
  gone: "this role is no more",
  renamed: "of a former role of this name",
} as const

function renderUser({ role, state, turns, frames, bytes: size, last, quota, days }: UserThere): string {
  const parts = [
    count(turns, "turn"),
    ...(frames === 0 ? [] : [count(frames, "frame")]),
    ...(size === null ? [] : [`${bytes(size)}${quota === null ? "" : ` of ${bytes(quota)}`}`]),
    ...(days === null ? [] : [`kept for ${count(days, "day")}`]),
    last === null ? "nothing sent" : `last ${last.slice(0, 16).replace("T", " ")} UTC`,
    ...(STATES[state] === "" ? [] : [STATES[state]]),
  ]
  return `  ${safe(role)}: ${parts.join(", ")}`
}

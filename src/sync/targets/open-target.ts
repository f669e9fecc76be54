/** Opens what a person names as the target of a sync: a folder, a file, a package, or the address of a server. */
import { CtxError, usageError } from "../../base/errors.ts"
import { ownProgram } from "../../base/own-program.ts"
import { isAbsolute, join, resolve } from "../../base/path.ts"
import { openFolderTarget } from "./folder-target.ts"
import { examineFolder } from "./open-folder.ts"
import { isServerAddress, type ServerVariables, serverAddress } from "./postgres-address.ts"
import type { ServerAdmin } from "./postgres-admin.ts"
import type { ServerWishes } from "./postgres-unlock.ts"
import { SealedFolders } from "./seal.ts"
import type { Target } from "./target.ts"

/** A target before it is opened. */
export interface NamedTarget {
  readonly kind: "folder" | "postgres" | "sqlite" | "agentdb"
  /** For people: a path, or an address without its password. */
  readonly shown: string
  /** Whether a program on this computer answers, and no server. */
  readonly isHere?: boolean
  /** Whether a key may have to be made of a passphrase first, which takes the processor a while. */
  makesKey?(): boolean
  /** Makes it, if it is not there but its place is. Throws what is wrong with it before anything is written. */
  open(): Promise<Target>
  /**
   * For whoever only reads: nothing is made there.
   *
   * @param patience ms for one call to a server
   */
  openToRead(patience: number): Promise<Target>
  /** Of a server with users. */
  administer?(): Promise<ServerAdmin>
  /** Of a folder: throws what is wrong with what it says of itself. Nothing is opened. */
  examine?(): void
}

export interface TargetWorld {
  readonly cwd: string
  readonly home: string
  readonly dataHome: string
  readonly variables: ServerVariables
  /** Folder of the package that `agentdb:` stands for. */
  readonly agentdb: string | undefined
  /** Name of this archive among those that write to a folder. */
  readonly writer: () => string
  /** Of an encrypted folder, or of what is encrypted at a server. */
  readonly passphrase?: () => string | undefined
  /** Of this machine, where it remembers which folders are encrypted. */
  readonly stateHome: string
  /** Whether a folder that is not as it was, or not encrypted, is to be taken as it is, or get a new key. */
  readonly isNewKey?: boolean
  /** Whether what is at a server is to be encrypted from now on. */
  readonly isEncrypting?: boolean
}

/** @throws CtxError exit 64 for what can be no target */
export function targetCalled(named: string, world: TargetWorld): NamedTarget {
  if (isServerAddress(named)) return serverTarget(named, world)
  const [, scheme, rest] = /^(sqlite|agentdb):(?:\/\/(?=\/))?(.*)$/is.exec(named) ?? []
  if (scheme?.toLowerCase() === "sqlite") return sqliteTarget(rest!, world)
  if (scheme !== undefined) return agentdbTarget(rest!, world)
  // Not repeated as a whole: it may hold a password.
  const [, other] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(named) ?? []
  if (other !== undefined)
    throw usageError(`${other}:// is no target`, "name a folder, sqlite:PATH, agentdb:PATH or postgres://…")
  return folderTarget(placeAt(named, world), world)
}

function folderTarget(
  root: string,
  { writer, passphrase, stateHome, isNewKey = false }: TargetWorld,
): NamedTarget {
  const seen = new SealedFolders(stateHome)
  return {
    kind: "folder",
    shown: root,
    async open() {
      const newKeyFor = isNewKey ? writer() : undefined
      return openFolderTarget(root, writer(), passphrase?.(), false, { seen, newKeyFor })
    },
    examine: () => examineFolder(root, { passphrase: passphrase?.(), seen }),
    openToRead: async () => openFolderTarget(root, "", passphrase?.(), true, { seen }),
  }
}

// Whoever keeps a folder loads none of the others.

function serverTarget(named: string, world: TargetWorld): NamedTarget {
  const { variables, writer, passphrase, stateHome, isNewKey, isEncrypting } = world
  const address = serverAddress(named, variables)
  const seen = new SealedFolders(stateHome)
  const wishes = (): ServerWishes => ({ seen, passphrase: passphrase?.() })
  return {
    kind: "postgres",
    shown: address.shown,
    makesKey: () => passphrase?.() !== undefined,
    async open() {
      const { openPostgresTarget } = await import("./postgres-target.ts")
      return openPostgresTarget(address, undefined, false, writer(), { ...wishes(), isNewKey, isEncrypting })
    },
    async openToRead(patience) {
      const { openPostgresTarget } = await import("./postgres-target.ts")
      return openPostgresTarget(address, patience, true, "", wishes())
    },
    async administer() {
      const { administerPostgres } = await import("./postgres-admin.ts")
      return administerPostgres(address)
    },
  }
}

function sqliteTarget(path: string, world: TargetWorld): NamedTarget {
  if (path === "") throw usageError("sqlite: names no file", "sqlite:PATH")
  const file = placeAt(path, world)
  const open = async (isReader: boolean): Promise<Target> =>
    (await import("./sqlite-target.ts")).openSqliteTarget(file, isReader)
  return { kind: "sqlite", shown: `sqlite:${file}`, open: () => open(false), openToRead: () => open(true) }
}

function agentdbTarget(path: string, world: TargetWorld): NamedTarget {
  // Beside the archive and not in it: whatever is in there is the archive's.
  const file = path === "" ? `${world.dataHome}-agentdb.db` : placeAt(path, world)
  const open = async (isReader: boolean): Promise<Target> => {
    const folder = packageFolder(world.agentdb)
    const { openAgentdbTarget } = await import("./agentdb-target.ts")
    const program = { exePath: ownProgram(), env: { HOME: world.home } }
    return openAgentdbTarget({ folder, file, ...program }, isReader)
  }
  const shown = `agentdb:${file}`
  return { kind: "agentdb", shown, isHere: true, open: () => open(false), openToRead: () => open(true) }
}

/** Only an absolute folder: a relative one would be code of whatever project one is in. */
function packageFolder(folder: string | undefined): string {
  if (folder !== undefined && isAbsolute(folder)) return folder
  throw new CtxError("target-missing", "agentdb: needs the package @claude-flow/memory", {
    hint: "set CTXBRIDGE_AGENTDB to its absolute folder: …/node_modules/@claude-flow/memory",
  })
}

function placeAt(path: string, { cwd, home, dataHome }: TargetWorld): string {
  const shown = path.startsWith("~/") ? join(home, path.slice(2)) : resolve(cwd, path)
  if (`${shown}/`.startsWith(`${dataHome}/`))
    throw usageError("the target is the archive's own folder", "name another one, best on another disk")
  return shown
}

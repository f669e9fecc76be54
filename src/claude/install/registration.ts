/**
 * Which of Claude Code's files mention us, and what each contains: hooks and status line in its settings, and the MCP
 * server in a separate file.
 */

import { existsSync, mkdirSync, statSync } from "node:fs"
import { CtxError, codeOf } from "../../base/errors.ts"
import { isEmptySettings } from "../../base/json-text.ts"
import { basename, join } from "../../base/path.ts"
import type { Paths } from "../../config/load.ts"
import { dropPointers } from "../../views/pointers.ts"
import { PROJECT_SERVERS, SERVER_NAME } from "../our-server.ts"
import { type SettingsScope, settingsPath } from "../settings/read-settings.ts"
import { claudeStateFile } from "../settings/state-file.ts"
import type { HookTable } from "./hooks-table.ts"
import {
  type Ours,
  recordedTargets,
  register,
  removeIfEmpty,
  type SettingsChange,
  unregister,
  type WithOurs,
  type WithoutOurs,
} from "./register.ts"
import { addServer, removeServer } from "./server-edit.ts"
import { addHooks, removeHooks } from "./settings-edit.ts"
import { addStatusLine, removeStatusLine, type StatusLineState, type StatusLineWish } from "./status-line.ts"

export interface ClaudeFolders extends Pick<Paths, "claudeDir" | "claudeConfig" | "dataHome"> {
  /** The folder whose project's settings are meant. */
  readonly cwd: string
}

interface RemovalOptions extends ClaudeFolders {
  readonly scope: SettingsScope
  /** Work out the change but write nothing. */
  readonly dryRun?: boolean
}

export interface RegistrationOptions extends RemovalOptions {
  /** Absolute path of the binary that the hooks should call. */
  readonly exePath: string
  /** The hooks; default: those that are always registered. */
  readonly table?: HookTable
  /** Default `update`: adds none. */
  readonly statusLine?: StatusLineWish
}

/** The result of an install, including the status line. */
export interface HooksChange extends SettingsChange {
  /** What was done to the status line, or the one that is there. */
  readonly statusLine: StatusLineState
}

/** The file in which Claude Code looks for servers; undefined for `local`, which has no file of its own. */
export function serverPath(scope: SettingsScope, places: ClaudeFolders): string | undefined {
  if (scope === "local") return undefined
  return scope === "project" ? join(places.cwd, PROJECT_SERVERS) : claudeStateFile(places)
}

/** The user's folder is private; a project's gets the usual mode. */
const folderMode = (scope: SettingsScope): number => (scope === "user" ? 0o700 : 0o777)

const hooksIn = (options: RemovalOptions): Ours => ({
  file: settingsPath(options.scope, options),
  folderMode: folderMode(options.scope),
  remove: removeFromSettings,
  isEmpty: isEmptySettings,
})

/** Registers our hooks, and the status line as requested. Repeating it with the same binary changes nothing. */
export function install(options: RegistrationOptions): HooksChange {
  const { exePath, table, statusLine: wish = "update" } = options
  let statusLine: StatusLineState = "none"
  const add = (text: string | undefined): WithOurs => {
    const hooks = addHooks(text, exePath, true, table)
    const line = addStatusLine(hooks.text, exePath, wish)
    statusLine = line.state
    return { ...hooks, text: line.text }
  }
  return { ...register({ ...hooksIn(options), add }, options), statusLine }
}

/**
 * Removes our hooks. If nobody has touched the file since the install, its former bytes are restored (or the file and
 * the folders created for it are deleted); otherwise only what is ours is cut out.
 */
export function uninstall(options: RemovalOptions): SettingsChange {
  return unregister(hooksIn(options), options)
}

/** Does the same for every file that an install has written, in any project, and for everything of ours in it. */
export function uninstallAll(
  options: Pick<Paths, "dataHome"> & { readonly dryRun: boolean },
): SettingsChange[] {
  // Latest first: folders are removed with the install that created them.
  return recordedTargets(options.dataHome)
    .toReversed()
    .map((file) => {
      const lock = isStateFile(file) ? withStateLock : undefined
      // A link can have any name, so the name does not tell whether the file holds settings or servers.
      const ours = { file, folderMode: 0o700, lock, remove: removeAll, isEmpty: isEmptySettings }
      const change = told(unregister(ours, options), options)
      return change.removed.includes(SERVER_NAME) ? { ...change, diff: [] } : change
    })
}

const isStateFile = (file: string): boolean => /^\.(claude|config)\.json$/.test(basename(file))

const removeFromSettings = removing(removeHooks, removeStatusLine)

const removeAll = removing(removeHooks, removeStatusLine, removeServer)

function removing(...parts: readonly Ours["remove"][]): Ours["remove"] {
  return (text, original) =>
    parts.reduce<WithoutOurs>(
      (done, remove) => {
        const { text: now, removed } = remove(done.text, original)
        return { text: now, removed: [...done.removed, ...removed] }
      },
      { text, removed: [] },
    )
}

/** Registers our MCP server in the same way; undefined for a scope without a server file. */
export function installServer(options: RegistrationOptions): SettingsChange | undefined {
  const ours = serverIn(options)
  return (
    ours && told(register({ ...ours, add: (text) => addServer(text, options.exePath) }, options), options)
  )
}

export function uninstallServer(options: RemovalOptions): SettingsChange | undefined {
  const ours = serverIn(options)
  return ours && told(unregister(ours, options), options)
}

/** Pointers rendered before say how a turn is opened: with the server, or without it. */
function told(change: SettingsChange, { dataHome }: Pick<ClaudeFolders, "dataHome">): SettingsChange {
  if (change.changed && !change.dryRun) dropPointers(dataHome)
  return change
}

function serverIn(options: RemovalOptions): Ours | undefined {
  const file = serverPath(options.scope, options)
  if (file === undefined) return undefined
  return {
    file,
    folderMode: folderMode(options.scope),
    // Claude Code writes its state file all the time, but never a project's file.
    lock: options.scope === "user" ? withStateLock : undefined,
    isPrivate: true,
    remove: removeServer,
    isEmpty: isEmptySettings,
  }
}

/*
 * Claude Code's own lock on its state file, so that neither side loses the other's changes. It is a folder next to the
 * file, as created by the library that it uses (proper-lockfile). Claude Code rereads the file once it holds the lock.
 */

/** ms after which Claude Code's library considers a lock abandoned by a dead process. */
const STALE = 10_000
/** How long we wait for a lock, in ms: long enough to recognise an abandoned one. */
const PATIENCE = STALE + 1000
const PAUSE = 20
const ATTEMPTS = 5

/** Runs `work` under the lock, and retries if a Claude Code that does not lock writes at the same moment. */
function withStateLock<T>(file: string, work: () => T): T {
  // Claude Code locks the path it was given, even a link.
  const lock = `${file}.lock`
  const held = take(lock, performance.now() + PATIENCE)
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        return work()
      } catch (error) {
        if (codeOf(error) !== "settings-changed" || attempt >= ATTEMPTS) throw error
      }
    }
  } finally {
    if (held) removeIfEmpty(lock)
  }
}

/** @returns false if no lock can be created; `work` then reports why, and checks for concurrent changes itself */
function take(lock: string, deadline: number): boolean {
  for (;;) {
    try {
      mkdirSync(lock)
      return true
    } catch (error) {
      if (codeOf(error) !== "EEXIST") return false
    }
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs
    if (since !== undefined && Date.now() - since > STALE) {
      // As Claude Code's library does. Otherwise the lock of an install that was killed would stay forever.
      if (!removeIfEmpty(lock) && existsSync(lock)) return false
      continue
    }
    if (performance.now() > deadline) {
      throw new CtxError("settings-changed", "Claude Code is writing its state file", {
        hint: "nothing was changed; run the command again",
      })
    }
    Bun.sleepSync(PAUSE)
  }
}

/** Opens what a person names as the target of a sync: a folder, or the address of a server. */
import { resolve } from "node:path"
import { usageError } from "../util/errors.ts"
import type { Backend } from "./backend.ts"
import { openFolderBackend } from "./folder-backend.ts"
import { openFolderFrames } from "./folder-frames.ts"
import type { FrameStore } from "./frame-store.ts"
import { isServerAddress, type ServerVariables, serverAddress } from "./postgres-address.ts"

export interface Target {
  readonly kind: "folder" | "postgres"
  /** For people: a path, or an address without its password. */
  readonly shown: string
  open(): Promise<Backend>
  /** The bytes of the vault there. */
  openFrames(): Promise<FrameStore>
}

interface Here {
  readonly cwd: string
  readonly dataHome: string
  readonly variables: ServerVariables
  /** Name of this archive among those that write to a folder. */
  readonly writer: () => string
  /** Of an encrypted folder. */
  readonly passphrase?: () => string | undefined
}

/** @throws CtxError exit 64 for what can be no target */
export function backendNamed(named: string, { cwd, dataHome, variables, writer, passphrase }: Here): Target {
  if (!isServerAddress(named)) {
    // Not repeated as a whole: it may hold a password.
    const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(named) ?? []
    if (scheme !== undefined)
      throw usageError(`cannot sync to ${scheme}://`, "name a folder, or postgres://…")
    const shown = resolve(cwd, named)
    if (`${shown}/`.startsWith(`${dataHome}/`))
      throw usageError("the target is the archive's own folder", "name another one, best on another disk")
    return {
      kind: "folder",
      shown,
      open: async () => openFolderBackend(shown, writer(), passphrase?.()),
      openFrames: async () => openFolderFrames(shown, writer(), passphrase?.()),
    }
  }
  const address = serverAddress(named, variables)
  return {
    kind: "postgres",
    shown: address.shown,
    async open() {
      // Whoever keeps a folder loads no client.
      const { openPostgresBackend } = await import("./postgres-backend.ts")
      return openPostgresBackend(address)
    },
    async openFrames() {
      const { openPostgresFrames } = await import("./postgres-frames.ts")
      return openPostgresFrames(address, writer())
    },
  }
}

/** Opens what a person names as the target of a sync: a folder, or the address of a server. */
import { resolve } from "node:path"
import type { Backend } from "./backend.ts"
import { openFolderBackend } from "./folder-backend.ts"
import { isServerAddress, type ServerVariables, serverAddress } from "./postgres-address.ts"

export interface Target {
  readonly kind: "folder" | "postgres"
  /** For people: a path, or an address without its password. */
  readonly shown: string
  open(): Promise<Backend>
}

interface Here {
  readonly cwd: string
  readonly variables: ServerVariables
  /** Name of this archive among those that write to a folder. */
  readonly writer: () => string
}

export function backendNamed(named: string, { cwd, variables, writer }: Here): Target {
  if (!isServerAddress(named)) {
    const shown = resolve(cwd, named)
    return { kind: "folder", shown, open: async () => openFolderBackend(shown, writer()) }
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
  }
}

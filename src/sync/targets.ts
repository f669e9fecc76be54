/** The targets of commands and of the server: the one that is named, or those that the user's variables name. */
import { backendNamed, type Target, type TargetWorld } from "../backends/open-target.ts"
import { serverVariables, targetWishes } from "../config/load.ts"
import type { Config } from "../config/options.ts"
import { type BackendName, type ChosenTarget, chooseTargets } from "./choose-target.ts"
import { readPassphrase } from "./passphrase.ts"
import { writerName } from "./writer-name.ts"

type Here = Pick<TargetWorld, "cwd" | "home" | "dataHome" | "stateHome" | "isNewKey">

/** The options that say where entries go, and with which passphrase. */
export type TargetOptions = Pick<Config, "sync.to" | "sync.backend" | "sync.passphrase-file">

export interface ConfiguredTarget extends Target, Pick<ChosenTarget, "why"> {}

export const targetNamed = (
  named: string,
  config: TargetOptions,
  { cwd, home, dataHome, stateHome, isNewKey = false }: Here,
): Target =>
  backendNamed(named, {
    ...{ cwd, home, dataHome, stateHome, isNewKey },
    variables: serverVariables(),
    agentdb: targetWishes("").agentdb,
    writer: () => writerName(dataHome),
    passphrase: () => readPassphrase(config["sync.passphrase-file"], home),
  })

/** The best first; none if nothing is configured. */
export const configuredTargets = (config: TargetOptions, here: Here): ConfiguredTarget[] =>
  chooseTargets(config["sync.backend"] as BackendName, targetWishes(config["sync.to"])).map(
    ({ named, why }) => ({
      ...targetNamed(named, config, here),
      why,
    }),
  )

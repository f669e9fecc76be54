/** What a set of secrets consists of: services with the shapes of their secrets, and places in which these stand. */

export interface Service {
  readonly name: string
  /** A variable that holds such a secret, as people write it. */
  readonly variable: string
  /** See secretOf. */
  readonly shape: string
  /** Whether the secret can be told by its beginning or structure alone. */
  readonly isPrefixed: boolean
}

export interface Place {
  readonly name: string
  /** `strong`: configuration, headers and options, in which a name says what follows. `weak`: prose, code, output. */
  readonly kind: "strong" | "weak"
  /** Empty if such a value never stands there. */
  readonly write: (variable: string, value: string) => string
}

export interface SecretSet {
  readonly name: string
  readonly services: readonly Service[]
  readonly places: readonly Place[]
  /** Places that say nothing of what stands in them, for secrets that can be told by themselves. */
  readonly barePlaces: readonly Place[]
}

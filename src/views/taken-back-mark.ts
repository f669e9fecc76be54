/** How output tells that the user took a turn back (take-back.ts). Pure. */

/** Set only on turns that were taken back. */
export interface TakenBack {
  readonly takenBack?: true
}

/** @param turn a row with the flag as stored in the views */
export const takenBackOf = (turn: { readonly takenBack: number }): TakenBack =>
  turn.takenBack === 1 ? { takenBack: true } : {}

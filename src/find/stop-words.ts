/** English words that say nothing, or little, about a message's subject. Pure. */

// One string: a Set would have to be built at every start.
const STOP_WORDS =
  " a about am an and any are as at be because been before being but by can could did do does doing done for from get " +
  "got had has have he her hers him his how i if in into is it its just like me my no not of off on or our ours she " +
  "should so some such than that the their them then there these they this those to too us was we were what when " +
  "where which while who whom whose why will with would you your yours "

export const isStopWord = (word: string): boolean => STOP_WORDS.includes(` ${word} `)

/** What people put into a question around its subject: of little weight, but "go" and "call" may be the subject. */
const FILLERS =
  " actually again ago all almost already another any anybody anyone anything back call called came come comes coming " +
  "down even ever every everything exactly get gets getting give gives given gone goes going go happen happened happens " +
  "here just keep kept kind know leave left less let lets look looked looking looks lot made make makes making many more " +
  "most much need needed never now off one ones only other others out over put quite really said saw say says see simply " +
  "somebody someone something sort still stuff take takes tell then there thing things think thought told too took up " +
  "very want wanted way ways went yet "

export const isFiller = (word: string): boolean => FILLERS.includes(` ${word} `)

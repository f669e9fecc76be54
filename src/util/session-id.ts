/** Ids of sessions as they may be started, written into a file name or sent: no option, no path, no white space. */
export const isPlainId = (id: string): boolean => id.length <= 200 && /^[A-Za-z0-9][\w.-]*$/.test(id)

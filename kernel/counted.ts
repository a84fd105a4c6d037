/** `1 goal`, `12 goals`. @param many for what does not end in an s */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

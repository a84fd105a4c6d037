/** As `ref` of a field that came because somebody asked for it. */
export function focused(element: HTMLElement | null): void {
  element?.focus()
}

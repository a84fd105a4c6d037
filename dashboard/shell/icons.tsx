/** Own icons on a grid of 20, drawn in strokes of the text's colour. */
const PATHS: Record<string, string> = {
  fleet: 'M3 4h6v5H3zM11 4h6v8h-6zM3 11h6v5H3zM11 14h6v2h-6z',
  approvals: 'M4 4h12v12H4zM7 10l2.2 2.2L13.5 8',
  sessions: 'M3 4h14v9H9l-4 3.5V13H3z',
  runs: 'M3 5h8M6 10h9M5 15h5M13 15h4',
  spend: 'M3 16V4M3 16h14M6 12l3-3 3 2 4-6',
  society: 'M10 5a2 2 0 1 0 0-.01M5 14a2 2 0 1 0 0-.01M15 14a2 2 0 1 0 0-.01M9 6.8L6 12.2M11 6.8L14 12.2M7 14h6',
  plugins: 'M7 3v4M13 3v4M5 7h10v4a5 5 0 0 1-10 0zM10 16v2',
  models: 'M10 2l7 4v8l-7 4-7-4V6zM10 10l7-4M10 10L3 6M10 10v8',
  config: 'M3 6h8M15 6h2M3 14h2M9 14h8M11 4v4M7 12v4',
  events: 'M3 10h3l2-6 4 12 2-6h3',
}

export function Icon({ name }: { name: string }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={PATHS[name] ?? ''} />
    </svg>
  )
}

/** Stylesheet of a report. Its colours and fonts are those of the dashboard. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#f8f7f4, #141412);
  --card: light-dark(#ffffff, #1c1c19);
  --raised: light-dark(#f3f1ec, #262622);
  --line: light-dark(#e3dfd6, #34332e);
  --ink: light-dark(#201e1a, #ece9e2);
  --soft: light-dark(#625d54, #a8a398);
  --accent: light-dark(#1f6b58, #7fd1b6);
  --good: light-dark(#1d7a4a, #6cd09a);
  --warn: light-dark(#8a5a00, #e3b455);
  --bad: light-dark(#a9301f, #f08e80);
  --info: light-dark(#2a5d9f, #8ab8f0);
  --violet: light-dark(#6c4aa5, #bda3ee);
  --radius: 0.7rem;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace;
  font: 93.75% / 1.5 ui-sans-serif, system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
*, ::before, ::after { box-sizing: border-box; }
html { background: var(--paper); color: var(--ink); scroll-padding-block-start: 4rem; text-size-adjust: 100%; }
body { margin: 0 auto; max-inline-size: 76rem; padding: 2rem clamp(0.9rem, 3vw, 2.5rem) 4rem; }
h1, h2, h3, p, dl, dd, ol, ul, figure, pre { margin: 0; padding: 0; }
h1 { font: 650 1.5rem / 1.25 var(--mono); letter-spacing: -0.03em; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; font-weight: 650; letter-spacing: -0.01em; }
h3 { font-size: 0.95rem; font-weight: 600; overflow-wrap: anywhere; }
a { color: var(--accent); text-underline-offset: 0.15em; }
code, .mono { font-family: var(--mono); font-size: 0.87em; overflow-wrap: anywhere; }
.soft { color: var(--soft); font-size: 0.87rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }

.eyebrow { color: var(--soft); font-size: 0.8rem; letter-spacing: 0.06em; text-transform: uppercase; margin-block-end: 0.35rem; }
.facts { display: flex; flex-wrap: wrap; gap: 0.25rem 1.1rem; margin-block-start: 0.5rem; color: var(--soft); }
.facts b { color: var(--ink); font-weight: 550; }
.notice { margin-block-start: 0.9rem; padding: 0.6rem 0.85rem; border-inline-start: 3px solid var(--warn); border-radius: 4px; background: var(--card); }
nav { position: sticky; inset-block-start: 0; z-index: 1; margin: 1.4rem -0.5rem 0; padding: 0.55rem 0.5rem; background: var(--paper); border-block-end: 1px solid var(--line); }
nav ul { display: flex; gap: 0.2rem 1.2rem; list-style: none; overflow-x: auto; scrollbar-width: none; }
nav a { color: var(--soft); text-decoration: none; white-space: nowrap; }
nav a:hover { color: var(--ink); }
section { margin-block-start: 2.2rem; }
section > h2 { margin-block-end: 0.8rem; }
section > p { margin-block: -0.3rem 0.7rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); padding: 1rem 1.1rem; }
.card + .card, .card + details, .card + .grid, details + details, details + .card { margin-block-start: 0.7rem; }
details + .card:has(> h3) { margin-block-start: 1.6rem; }

.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.2rem, 1fr)); gap: 0.7rem; }
.tiles > div { background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); padding: 0.75rem 0.95rem; }
.tiles dt { color: var(--soft); font-size: 0.83rem; }
.tiles dd { font-size: 1.4rem; font-weight: 620; letter-spacing: -0.02em; font-variant-numeric: tabular-nums; line-height: 1.3; }
.tiles small { display: block; color: var(--soft); font-size: 0.8rem; font-weight: 400; letter-spacing: 0; }

.wide { overflow-x: auto; }
table { inline-size: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th { color: var(--soft); font-size: 0.83rem; font-weight: 500; text-align: start; }
th, td { padding: 0.4rem 0.9rem 0.4rem 0; border-block-end: 1px solid var(--line); vertical-align: baseline; }
tr:last-child td { border-block-end: 0; }
.number { text-align: end; white-space: nowrap; }
th:last-child, td:last-child { padding-inline-end: 0; }
.wide td:first-child { min-inline-size: 9rem; }

.plot { display: block; inline-size: 100%; block-size: 9rem; overflow: visible; }
.plot .area { fill: var(--accent); opacity: 0.14; }
.plot .line { fill: none; stroke: var(--accent); stroke-width: 1.75; vector-effect: non-scaling-stroke; }
.plot .base { stroke: var(--line); vector-effect: non-scaling-stroke; }
.ends { display: flex; justify-content: space-between; gap: 1rem; color: var(--soft); font-size: 0.8rem; font-variant-numeric: tabular-nums; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 0.7rem; }
.grid > .card { margin: 0; }

.lane { display: grid; grid-template-columns: minmax(6rem, 15rem) 1fr; gap: 0.8rem; align-items: center; padding-block: 0.15rem; }
.lane > span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-size: 0.87rem; }
.bars { display: block; inline-size: 100%; block-size: 0.85rem; border-radius: 3px; background: var(--raised); }
.bars rect { fill: var(--soft); }
.bars .completed, .bars .ok { fill: var(--good); }
.bars .active, .bars .running { fill: var(--info); }
.bars .error, .bars .crashed { fill: var(--bad); }
.bars .abandoned { fill: var(--warn); }
.bars .decision { fill: var(--violet); }
.bars .tool { fill: var(--accent); }
.bars .tool.error, .bars .decision.error { fill: var(--bad); }
.key { display: flex; flex-wrap: wrap; gap: 0.2rem 1.1rem; margin-block-start: 0.7rem; color: var(--soft); font-size: 0.83rem; }
.key svg { display: inline-block; inline-size: 0.7rem; block-size: 0.7rem; margin-inline-end: 0.35rem; border-radius: 2px; vertical-align: -0.05rem; }

details { background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); }
summary { cursor: pointer; padding: 0.65rem 1.1rem; overflow-wrap: anywhere; }
summary::marker { color: var(--soft); }
details > .inside { padding: 0 1.1rem 1rem; }
.mark { font-size: 0.75rem; padding: 0.06rem 0.45rem; border-radius: 1rem; border: 1px solid currentcolor; margin-inline-end: 0.5rem; white-space: nowrap; color: var(--soft); }
.mark.completed, .mark.ok, .mark.ended { color: var(--good); }
.mark.active, .mark.running { color: var(--info); }
.mark.error, .mark.crashed, .mark.failed { color: var(--bad); }
.mark.abandoned { color: var(--warn); }
.about { margin-block: 0.2rem 0.7rem; display: grid; grid-template-columns: max-content 1fr; gap: 0.25rem 0.9rem; }
.about dt { color: var(--soft); }
.about dd { overflow-wrap: anywhere; white-space: pre-wrap; }

.steps { list-style: none; }
.step, .steps summary { display: grid; grid-template-columns: 4.6rem minmax(7rem, 17rem) 1fr 5rem; gap: 0.8rem; align-items: center; padding: 0.22rem 0; }
.steps details { background: none; border: 0; border-radius: 0; margin: 0; }
.steps summary { list-style: none; }
.steps summary::-webkit-details-marker { display: none; }
.steps summary .name::after { content: " +"; color: var(--soft); }
.steps details[open] summary .name::after { content: " −"; }
.steps time, .steps .took { color: var(--soft); font-size: 0.83rem; font-variant-numeric: tabular-nums; }
.steps .took { text-align: end; }
.steps .name { font-family: var(--mono); font-size: 0.84rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.steps .name.error { color: var(--bad); }
.steps .inside { padding: 0.2rem 0 0.7rem 5.4rem; }

pre { font: 0.82rem / 1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; background: var(--raised); border-radius: 0.4rem; padding: 0.6rem 0.8rem; max-block-size: 32rem; overflow-y: auto; unicode-bidi: plaintext; }
pre + pre, p + pre, pre + p { margin-block-start: 0.4rem; }
.label { color: var(--soft); font-size: 0.8rem; margin-block: 0.4rem 0.2rem; }

.timeline { list-style: none; }
.timeline li { display: grid; grid-template-columns: 7.4rem minmax(5rem, 12rem) 1fr; gap: 0.9rem; padding: 0.28rem 0; border-block-end: 1px solid var(--line); }
.timeline li:last-child { border: 0; }
.timeline time { color: var(--soft); font-size: 0.83rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.timeline .who { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-size: 0.87rem; }
.timeline .what { overflow-wrap: anywhere; unicode-bidi: isolate; }
.timeline .bad { color: var(--bad); }
.timeline .good { color: var(--good); }

.said { padding: 0.55rem 0 0.55rem 0.85rem; border-inline-start: 2px solid var(--line); margin-block-start: 0.55rem; }
.said.assistant { border-color: var(--accent); }
.said.user { border-color: var(--info); }
.said.tool { border-color: var(--violet); }
.said.failed { border-color: var(--bad); }
.said .text { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }
footer { margin-block-start: 3rem; color: var(--soft); font-size: 0.87rem; }

@media (width < 40rem) {
  body { padding-block-start: 1.2rem; }
  h1 { font-size: 1.2rem; }
  .card, summary { padding-inline: 0.85rem; }
  details > .inside { padding-inline: 0.85rem; }
  .tiles { grid-template-columns: 1fr 1fr; }
  .lane { grid-template-columns: 1fr; gap: 0.15rem; padding-block: 0.3rem; }
  .step, .steps summary { grid-template-columns: 1fr auto; gap: 0 0.8rem; }
  .steps time { display: none; }
  .steps .bars { grid-row: 2; grid-column: 1 / -1; block-size: 0.45rem; }
  .steps .inside { padding-inline-start: 0; }
  .timeline li { grid-template-columns: auto 1fr; gap: 0 0.8rem; }
  .timeline .what { grid-column: 1 / -1; }
  .timeline .who { text-align: end; }
  .about { grid-template-columns: 1fr; }
  .about dd { margin-block-end: 0.3rem; }
}

@media print {
  :root { color-scheme: light; font-size: 9.5pt; }
  html { background: none; }
  body { max-inline-size: none; padding: 0; }
  nav, .steps summary .name::after { display: none; }
  details::details-content { content-visibility: visible; block-size: auto; }
  details > summary { list-style: none; }
  pre { max-block-size: none; }
  .card, .tiles > div, .said, .steps li { break-inside: avoid; }
  h2, summary { break-after: avoid; }
  .bars rect, .plot .area, pre { print-color-adjust: exact; }
}
`

"""How the page looks: one column, verdict first; light or dark as the reader's screen is, always light on paper."""

STYLE = """
:root {
  color-scheme: light; --paper: #fbfbf9; --card: #ffffff; --ink: #1b2430; --soft: #5a6675; --line: #e1e4e8;
  --held: #1d7a46; --held-back: #e6f4ec; --violated: #b42318; --violated-back: #fdecea;
  --unjudged: #6b7280; --unjudged-back: #eef0f3; --merge: #1b2430; --on: #ffffff;
  --c0: #2f6db3; --c1: #c2622d; --c2: #2e8b57; --c3: #8055ad;
  --c4: #b03a74; --c5: #5d7a26; --c6: #24868c; --c7: #97771f;
}
@media screen and (prefers-color-scheme: dark) { :root {
  color-scheme: dark; --paper: #14181d; --card: #1b2128; --ink: #e6e9ed; --soft: #9aa5b1; --line: #2c343d;
  --held: #5fca8d; --held-back: #17301f; --violated: #ff8a7a; --violated-back: #3a1a17;
  --unjudged: #a3adb8; --unjudged-back: #262d35; --merge: #ffffff; --on: #10151a;
  --c0: #6aa8ec; --c1: #e79160; --c2: #63c08b; --c3: #b692e0;
  --c4: #e37eb0; --c5: #a5c463; --c6: #5fc3c9; --c7: #d6b45a;
} }
* { box-sizing: border-box; }
body { font: 16px/1.55 "Inter", system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: var(--ink);
  background: var(--paper); margin: 0 auto; max-width: 62rem; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; letter-spacing: -.015em; margin: 0 0 .25rem; }
h2 { font-size: 1.2rem; letter-spacing: -.005em; margin: 2.75rem 0 .5rem; }
h3 { font-size: .95rem; margin: 1.5rem 0 .25rem; color: var(--soft); font-weight: 600; }
p { margin: .35rem 0 .75rem; max-width: 46rem; } .soft, small { color: var(--soft); } small { display: block; }
.verdict { border-radius: 12px; padding: 1.1rem 1.4rem; margin: 1.4rem 0 1rem; border-left: 6px solid; }
.verdict strong { font-size: 1.5rem; display: block; line-height: 1.25; }
.verdict p { margin: .3rem 0 0; color: inherit; max-width: none; }
.verdict.held { background: var(--held-back); color: var(--held); border-color: var(--held); }
.verdict.violated { background: var(--violated-back); color: var(--violated); border-color: var(--violated); }
.verdict.unjudged { background: var(--unjudged-back); color: var(--unjudged); border-color: var(--unjudged); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.4rem, 1fr)); gap: .75rem; margin: 1rem 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .7rem .9rem; }
.tile b { display: block; font-size: 1.3rem; font-variant-numeric: tabular-nums; letter-spacing: -.01em; }
.tile span { color: var(--soft); font-size: .85rem; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; margin: .5rem 0; }
th { color: var(--soft); font-weight: 600; font-size: .8rem; text-align: left; vertical-align: bottom; }
th, td { padding: .45rem .75rem .45rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.id { font-weight: 600; color: var(--soft); white-space: nowrap; }
.pill { display: inline-block; border-radius: 999px; padding: .05rem .6rem; font-size: .82rem; font-weight: 600; }
.pill.held { background: var(--held-back); color: var(--held); }
.pill.violated { background: var(--violated-back); color: var(--violated); }
.pill.unjudged { background: var(--unjudged-back); color: var(--unjudged); }
.evidence { background: var(--violated-back); border-radius: 8px; padding: .5rem .75rem; margin: .4rem 0;
  font-size: .86rem; overflow-wrap: anywhere; }
.evidence small { color: var(--violated); }
figure { margin: .75rem 0 0; background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: .8rem .8rem .4rem; overflow-x: auto; }
svg { width: 100%; height: auto; display: block; } svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
svg .on { fill: var(--on); } svg .grid { stroke: var(--line); } svg .axis { stroke: var(--soft); }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; font-size: .88rem;
  color: var(--soft); }
@page { margin: 16mm 14mm; }
@media print {
  :root { --paper: #ffffff; } body { max-width: none; padding: 0; font-size: 9.5pt; line-height: 1.4; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  h1 { font-size: 17pt; } h2 { font-size: 12.5pt; margin-top: 1.4rem; } .verdict strong { font-size: 13pt; }
  h2, h3, p.soft { break-after: avoid; } tr, figure, .tile, .verdict, .evidence { break-inside: avoid; }
  th, td { padding: .22rem .6rem .22rem 0; } small { font-size: 8pt; }
  .tiles { grid-template-columns: repeat(auto-fit, minmax(5.6rem, 1fr)); gap: .4rem; }
  .tile { padding: .4rem .55rem; } .tile b { font-size: 11pt; } .tile span { font-size: 8pt; }
  .verdict { padding: .6rem 1rem; margin: .8rem 0; }
}
"""

"""How the pages look: the theme that Streamlit draws its own parts with, and the style sheet of ours.

Both follow the reader's light or dark preference. Colour never stands alone: every coloured mark carries its word.
"""

from __future__ import annotations

_LIGHT = {
    "primaryColor": "#0b6e63",
    "backgroundColor": "#ffffff",
    "secondaryBackgroundColor": "#f5f7f6",
    "textColor": "#18211f",
    "linkColor": "#0b6e63",
    "borderColor": "#dde3e1",
    "codeTextColor": "#18211f",
    "codeBackgroundColor": "#f5f7f6",
}
_DARK = {
    "primaryColor": "#0f8072",
    "backgroundColor": "#111716",
    "secondaryBackgroundColor": "#1a2321",
    "textColor": "#e6edeb",
    "linkColor": "#5fd0bd",
    "borderColor": "#2c3836",
    "codeTextColor": "#e6edeb",
    "codeBackgroundColor": "#1a2321",
}
_SHARED: dict[str, object] = {
    "font": "sans-serif",
    "headingFont": "sans-serif",
    "codeFont": "monospace",
    "baseFontSize": 15,
    "headingFontSizes": ["1.9rem", "1.3rem", "1.1rem", "1rem", "0.9rem", "0.85rem"],
    "headingFontWeights": [650, 600, 600, 600, 600, 600],
    "baseRadius": "0.4rem",
    "paddingTop": "1.5rem",
    "paddingBottom": "3rem",
    "linkUnderline": False,
    "showWidgetBorder": True,
}

THEME: dict[str, object] = {
    **{f"theme.{key}": value for key, value in _SHARED.items()},
    **{f"theme.light.{key}": value for key, value in _LIGHT.items()},
    **{f"theme.dark.{key}": value for key, value in _DARK.items()},
}
"""Streamlit configuration options by full name."""

CHART_COLOURS = {"light": ("#9db8b2", "#d9a441", "#c2410c"), "dark": ("#4d6b65", "#d6b25e", "#fb923c")}
"""Good calls, calls that are not known to be good, calls in error."""

STYLE = """
<style>
.tw {
  --ink: light-dark(#18211f, #e6edeb); --soft: light-dark(#55625f, #9fb0ac); --line: light-dark(#dde3e1, #2c3836);
  --pane: light-dark(#f5f7f6, #1a2321); --accent: light-dark(#0b6e63, #5fd0bd); --fill: light-dark(#8fb8b1, #3f7d73);
  --good: light-dark(#17663a, #7fd6a2); --bad: light-dark(#b3261e, #ff9a91); --warn: light-dark(#8a4b00, #f5b95f);
  --hold: light-dark(#5a3fa0, #c0adff); --calm: light-dark(#4c5a57, #aab8b5);
  --good-bg: light-dark(#e6f4ea, #15311f); --bad-bg: light-dark(#fdecea, #3b1a18); --warn-bg: light-dark(#fff1dc, #38270f);
  --hold-bg: light-dark(#efeaff, #271f42); --calm-bg: light-dark(#e9edec, #2a3533); --mark: light-dark(#d0675b, #e07b70);
  --unsure: light-dark(#d9a441, #d6b25e);
  color: var(--ink); font-size: .95rem; line-height: 1.45; font-variant-numeric: tabular-nums;
}
.tw a { color: var(--accent); text-decoration: none; }
.tw a:hover, .tw a:focus-visible { text-decoration: underline; }
.tw code, .tw .mono { font-family: "Source Code Pro", ui-monospace, monospace; font-size: .85em; background: none;
  color: inherit;
  padding: 0; }
.tw .soft { color: var(--soft); }
.tw .nowrap { white-space: nowrap; }
.tw.banner { border-left: 3px solid var(--warn); background: var(--warn-bg); padding: .55rem .9rem; border-radius: .3rem; }
.tw.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.75rem, 1fr)); gap: .75rem;
  margin: .2rem 0 .4rem; }
.tw .card { border: 1px solid var(--line); border-radius: .5rem; padding: .7rem .9rem .75rem; }
.tw .card .label { color: var(--soft); font-size: .84rem; }
.tw .card .value { font-size: 1.75rem; font-weight: 600; line-height: 1.25; letter-spacing: -.01em; }
.tw .card .value > .unknown, .tw .card .value > .soft { font-size: 1.15rem; line-height: 1.9; font-weight: 500; }
.tw .card .under { color: var(--soft); font-size: .84rem; }
.tw.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; }
.tw table.list { border-collapse: collapse; width: 100%; margin: 0; border: 0; }
.tw table.list caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.tw table.list th, .tw table.list td { border: 0; border-bottom: 1px solid var(--line); padding: .5rem .75rem;
  text-align: left;
  vertical-align: top; }
.tw table.list thead th { background: var(--pane); color: var(--soft); font-weight: 600; font-size: .82rem;
  white-space: nowrap;
  vertical-align: bottom; }
.tw table.list tbody th { font-weight: 500; }
.tw table.list tbody tr:last-child > * { border-bottom: 0; }
.tw table.list tbody tr:hover > * { background: var(--pane); }
.tw table.list tr.chosen > * { background: light-dark(#e8f3f1, #1b302c); }
.tw table.list tr.chosen > :first-child { box-shadow: inset 3px 0 var(--accent); }
.tw table.list .num { text-align: right; white-space: nowrap; }
.tw table.list .num + :not(.num) { padding-left: 1.75rem; }
.tw table.list .under { display: block; color: var(--soft); font-size: .82rem; font-weight: 400; }
.tw table.list.shared { table-layout: fixed; min-width: 68rem; }
.tw table.list.shared th, .tw table.list.shared td { overflow-wrap: anywhere; padding: .45rem .6rem; }
.tw table.list.shared thead th, .tw table.list.shared .unknown { white-space: normal; }
.tw table.list.shared .chip { white-space: normal; }
.tw table.list .clamp { display: -webkit-box; -webkit-line-clamp: 2; -webkit-box-orient: vertical; overflow: hidden; }
.tw .zero, .tw .unknown { color: var(--soft); }
.tw .unknown { font-style: italic; }
.tw table.list .unknown { white-space: nowrap; }
.tw .bar { display: flex; height: 4px; border-radius: 2px; background: var(--calm-bg); margin-top: .35rem; min-width: 4rem;
  overflow: hidden; }
.tw .bar > i { display: block; background: var(--fill); } .tw .bar > i.bad { background: var(--mark); }
.tw .bar > i.rest { background: none; }
.tw .trend { display: inline-flex; vertical-align: top; align-items: flex-end; gap: 2px; height: 2rem;
  border-bottom: 1px solid var(--line); }
.tw .trend > i { display: flex; flex-direction: column; width: 6px; height: 100%; }
.tw .trend > i > b { display: block; } .tw .trend > i > b.calls { background: var(--fill); border-radius: 1px 1px 0 0; }
.tw .trend > i > b.bad { background: var(--mark); } .tw .trend > i > b.unsure { background: var(--unsure); }
.tw .trend > i.marked { box-shadow: 0 2px 0 var(--accent); }
.tw .warning { color: var(--bad); background: var(--bad-bg); border-left: 3px solid var(--bad); padding: .35rem .7rem;
  border-radius: .3rem; margin: .2rem 0 .4rem; }
.tw .differs { color: var(--warn); font-weight: 600; font-size: .88rem; }
.tw .id { overflow-wrap: anywhere; }
.tw dl.facts .wide { grid-column: 1 / -1; }
.tw .pill { display: inline-block; border-radius: 1rem; padding: .05rem .55rem; font-size: .8rem; font-weight: 600;
  white-space: nowrap; background: var(--calm-bg); color: var(--calm); }
.tw .pill.good { background: var(--good-bg); color: var(--good); }
.tw .pill.bad { background: var(--bad-bg); color: var(--bad); }
.tw .pill.warn { background: var(--warn-bg); color: var(--warn); }
.tw .pill.hold { background: var(--hold-bg); color: var(--hold); }
.tw .chip { display: inline-block; border: 1px dashed var(--line); border-radius: .3rem; padding: 0 .35rem; font-size: .82em;
  color: var(--soft); background: var(--pane); white-space: nowrap; }
.tw .origin { color: var(--soft); font-size: .9em; font-family: "Source Sans", sans-serif; }
.tw dl.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .7rem 1.2rem; margin: 0;
  border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem; }
.tw dl.facts dt { color: var(--soft); font-size: .82rem; font-weight: 400; margin: 0; } .tw dl.facts dd { margin: 0;
  font-size: inherit;
  overflow-wrap: anywhere; }
.tw details > summary { cursor: pointer; }
.tw details > summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.tw details.step { border: 1px solid var(--line); border-radius: .5rem; margin-bottom: .55rem; background: none; }
.tw details.step > summary { padding: .6rem .9rem; display: flex; gap: .35rem .7rem; align-items: baseline; flex-wrap: wrap;
  list-style: none; }
.tw details.step > summary::-webkit-details-marker { display: none; }
.tw details.step > summary::before { content: "\\203A"; color: var(--soft); width: .7rem; font-size: 1.2rem;
  line-height: 1; align-self: center; text-align: center; }
.tw details.step[open] > summary::before { transform: rotate(90deg); }
.tw details.step[open] > summary { border-bottom: 1px solid var(--line); background: var(--pane);
  border-radius: .5rem .5rem 0 0; }
.tw details.step .n { font-weight: 600; min-width: 4.2rem; }
.tw details.step .grow { flex: 1 1 14rem; min-width: 0; overflow-wrap: anywhere; }
.tw .body { padding: .7rem .9rem .9rem; }
.tw .row { display: grid; grid-template-columns: 8rem minmax(0, 1fr); gap: .1rem .9rem; padding: .22rem 0; }
.tw .row > .k { color: var(--soft); font-size: .88rem; }
.tw .row > .v { overflow-wrap: anywhere; }
.tw .call { border: 1px solid var(--line); border-left: 3px solid var(--calm); border-radius: .4rem; padding: .6rem .9rem;
  margin-top: .7rem; }
.tw .call.good { border-left-color: var(--good); } .tw .call.bad { border-left-color: var(--bad); }
.tw .call.warn { border-left-color: var(--warn); } .tw .call.hold { border-left-color: var(--hold); }
.tw .call h4 { font-size: 1rem; font-weight: 600; margin: 0 0 .35rem; padding: 0; display: flex; gap: .3rem .6rem;
  flex-wrap: wrap;
  align-items: baseline; }
.tw .call h4 .soft { font-weight: 400; } .tw .call h4 > span { min-width: 0; overflow-wrap: anywhere; }
.tw ul { font-size: inherit; }
.tw ul.plain { list-style: none; margin: 0; padding: 0; }
.tw ul.plain li { margin: 0 0 .15rem; padding: 0; font-size: inherit; }
.tw ul.tools { columns: 18rem; margin: .35rem 0 0; padding: 0; list-style: none; }
.tw ul.tools li { break-inside: avoid; margin: 0; font-size: .88rem; }
.tw pre.json { background: var(--pane); border-radius: .35rem; padding: .5rem .7rem; margin: .15rem 0; white-space: pre-wrap;
  overflow-wrap: anywhere; font-size: .84rem; line-height: 1.5;
  max-height: 22rem; overflow-y: auto; color: inherit; border: 0; }
.tw.empty { border: 1px dashed var(--line); border-radius: .6rem; padding: 1.4rem 1.6rem; max-width: 46rem; }
.tw.empty h2 { font-size: 1.15rem; margin: 0 0 .3rem; padding: 0; } .tw.empty pre { background: var(--pane);
  padding: .5rem .8rem;
  border-radius: .35rem; margin: .25rem 0 .9rem; white-space: pre-wrap; color: inherit; }
.tw.heading { display: flex; gap: .3rem 1rem; align-items: baseline; flex-wrap: wrap; scroll-margin-top: 4.5rem; }
.tw.heading h2, .tw.heading h3 { margin: 0; padding: 0; overflow-wrap: anywhere; min-width: 0; }
.tw.verdict { color: var(--good); font-weight: 500; margin: .2rem 0 0; }
.tw.alarm { color: var(--bad); background: var(--bad-bg); border-left: 4px solid var(--bad); padding: .7rem 1rem;
  border-radius: .3rem; }
.tw.part { margin-top: .9rem; } .tw.part h3 { margin: 0; padding: 0; }
.tw.part p { margin: .1rem 0 0; font-size: .88rem; color: var(--soft); }
.tw.answers { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: .75rem; }
.tw .answer { border: 1px solid var(--line); border-top: 3px solid var(--calm); border-radius: .4rem;
  padding: .6rem .9rem .75rem; }
.tw .answer.good { border-top-color: var(--good); } .tw .answer.bad { border-top-color: var(--bad); }
.tw .answer.warn { border-top-color: var(--warn); } .tw .answer.hold { border-top-color: var(--hold); }
.tw .answer .label { color: var(--soft); font-size: .84rem; }
.tw .answer .value { font-size: 1.3rem; font-weight: 600; line-height: 1.35; overflow-wrap: anywhere; }
.tw .answer .why { font-size: .9rem; overflow-wrap: anywhere; }
.tw code.command { background: var(--pane); border-radius: .25rem; padding: .05rem .3rem; overflow-wrap: anywhere; }
.tw.step { margin: .7rem 0 .2rem; overflow-wrap: anywhere; }
.tw.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: .2rem 1.5rem; }
.tw.sides h3 { margin: 0; padding: 0 0 .2rem; font-size: 1rem; } .tw.sides ul { margin: 0; padding-left: 1.1rem; }
.tw.sides li { margin: 0 0 .15rem; font-size: inherit; overflow-wrap: anywhere; }
.tw.confirm { border: 1px solid var(--warn); background: var(--warn-bg); border-radius: .5rem; padding: .7rem 1rem; }
.tw.confirm p { margin: 0 0 .35rem; font-size: inherit; } .tw.confirm p:last-child { margin: .5rem 0 0; }
.tw.confirm .row { grid-template-columns: 4.5rem minmax(0, 1fr); }
.tw.done { color: var(--ink); background: var(--good-bg); border-left: 4px solid var(--good); padding: .7rem 1rem;
  border-radius: .3rem; }
.tw.note { color: var(--soft); font-size: .88rem; }
@media (max-width: 640px) { .tw .row { grid-template-columns: 1fr; } .tw .row > .k { padding-top: .2rem; } }
</style>
"""
"""One style sheet for everything that `markup` makes; all of it stands below `.tw`."""

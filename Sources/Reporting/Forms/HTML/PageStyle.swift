/// The page's style: light and dark, a phone's width and a desk's.
enum PageStyle {
  static let css = """
    :root{--bg:#f6f7f9;--card:#fff;--ink:#1c2330;--soft:#5a6473;--line:#dfe3e9;--good:#1a7f37;--same:#3f7f9b;--bad:#c4232c;\
    --wait:#946200;--off:#6b7480;--blue:#2563c9;--tint:#2563c922;--hatch:#8a93a055}
    @media (prefers-color-scheme:dark){:root{--bg:#12161c;--card:#1a2029;--ink:#e4e8ee;--soft:#9aa5b3;--line:#2d3542;\
    --good:#45b35f;--same:#6fb3cf;--bad:#ff6b6b;--wait:#dba63a;--off:#8f99a6;--blue:#6ea3ff;--tint:#6ea3ff2e;--hatch:#8a93a044}}
    *{box-sizing:border-box}
    body{margin:0;border-top:6px solid var(--tone);background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
    header,main,footer{max-width:1120px;margin:0 auto;padding:0 20px}
    header{padding-top:28px}
    h1{font-size:15px;font-weight:600;color:var(--soft);margin:0;overflow-wrap:anywhere}
    .verdict{font-size:25px;line-height:1.3;margin:4px 0 8px}
    .verdict b{color:var(--tone)}
    .facts,.note,footer,small,.way,.ids{color:var(--soft)}
    .facts{margin:0 0 8px}
    .note,footer,small{font-size:13px}
    header p{overflow-wrap:anywhere}
    section{margin:30px 0}
    h2{font-size:17px;margin:0 0 12px}
    h2 small{font-weight:400;font-size:15px}
    h3{font-size:15px;margin:0 0 4px;overflow-wrap:anywhere}
    .good{--tone:var(--good)}.same{--tone:var(--same)}.bad{--tone:var(--bad)}.wait{--tone:var(--wait)}.off{--tone:var(--off)}
    .cards{display:grid;gap:10px}
    .card{background:var(--card);border:1px solid var(--line);border-left:4px solid var(--tone);border-radius:8px;padding:12px 16px}
    .card p{margin:2px 0;overflow-wrap:anywhere}
    .hint::before{content:"→ ";color:var(--tone);font-weight:700}
    .ids{font-size:13px}
    .stack{height:16px;border:0;border-radius:5px}
    .stack rect{fill:var(--tone)}
    .states{list-style:none;display:flex;flex-wrap:wrap;gap:4px 22px;margin:10px 0 16px;padding:0}
    .s{white-space:nowrap}
    .s::before{content:"";display:inline-block;width:9px;height:9px;border-radius:50%;background:var(--tone);margin-right:6px}
    .tiles{list-style:none;padding:0;display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin:0 0 10px}
    .tiles li,figure,.wide,details{background:var(--card);border:1px solid var(--line);border-radius:8px}
    .tiles li{padding:10px 14px}
    .tiles span{color:var(--soft);font-size:13px;display:block}
    .tiles b{font-size:20px;font-weight:600;display:block}
    details{margin-top:10px;padding:8px 16px}
    summary{cursor:pointer}
    details ul{margin:8px 0;padding-left:20px;font-size:14px;overflow-wrap:anywhere}
    figure{margin:0;padding:12px 16px;min-width:0}
    figcaption{font-weight:600;margin-bottom:6px}
    .pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(430px,100%),1fr));gap:10px}
    .lane{margin-bottom:10px}
    .cap{display:flex;justify-content:space-between;gap:12px;font-size:13px;color:var(--soft)}
    svg{display:block;width:100%;border-bottom:1px solid var(--line)}
    .tall{height:130px}.low{height:56px}.thin{height:14px}
    .rate{fill:var(--blue)}.busy{fill:var(--same)}.failure{fill:var(--bad)}.retry,.hold{fill:var(--wait)}.gap{fill:var(--hatch)}
    .axis{display:flex;justify-content:space-between;font-size:12px;color:var(--soft);font-variant-numeric:tabular-nums}
    table{border-collapse:collapse;width:100%;font-size:14px}
    th,td{text-align:left;padding:6px 12px;vertical-align:top;border-top:1px solid var(--line);overflow-wrap:anywhere}
    thead th{border-top:0;color:var(--soft);font-weight:600;font-size:13px;white-space:nowrap}
    tbody th{font-weight:400}
    .n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
    .zero{color:var(--soft)}
    .wide{overflow-x:auto;margin-bottom:10px}
    .wide tbody th{min-width:160px}
    figure td,figure th{padding:4px 6px 4px 0}
    figure tr:first-child>*{border-top:0}
    .bars th{width:34%;white-space:nowrap;color:var(--soft)}.bars .n{width:5em}
    .bar::before{content:"";display:block;width:var(--w);height:12px;margin-top:5px;background:var(--blue);border-radius:0 3px 3px 0}
    .why b{color:var(--bad)}
    .way,.why{font-size:13px}
    .rows{content-visibility:auto;contain-intrinsic-size:auto calc(var(--rows)*60px)}
    .list td:first-child{width:62%;min-width:240px}
    .list th[data-k]{cursor:pointer}
    input{font:inherit;width:100%;max-width:420px;margin:0 0 10px;padding:7px 12px;color:inherit;background:var(--card);\
    border:1px solid var(--line);border-radius:8px}
    code{font-size:12px;overflow-wrap:anywhere}
    footer{padding-bottom:40px;overflow-wrap:anywhere}
    @media (max-width:560px){body{font-size:14px}header,main,footer{padding-left:12px;padding-right:12px}\
    .verdict{font-size:20px}th,td{padding:5px 8px}.axis span:nth-child(even){display:none}.list td:first-child{min-width:200px}}
    @media print{body{background:#fff}input{display:none}.rows{content-visibility:visible}}
    """
}

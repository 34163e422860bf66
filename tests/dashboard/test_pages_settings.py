import json
import subprocess
import sys

HOSTILE = """
[theme]
primaryColor = "#ff0000"
chartCategoricalColors = ["#ff0000"]
[browser]
gatherUsageStats = true
[server]
baseUrlPath = "elsewhere"
enableCORS = false
[client]
toolbarMode = "developer"
"""
ASKED = [
    "theme.primaryColor",
    "theme.light.primaryColor",
    "theme.chartCategoricalColors",
    "browser.gatherUsageStats",
    "server.baseUrlPath",
    "server.enableCORS",
    "client.toolbarMode",
]


def test_no_option_leaks_in_from_the_working_directory(tmp_path):
    """The pages look and behave the same wherever they are started, and never report home."""
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "config.toml").write_text(HOSTILE)
    script = (
        "import json, sys; from streamlit import config; from toolwitness.collector.receive.collector import Collector;"
        "from toolwitness.dashboard.server import build_app; build_app(Collector('x.duckdb'));"
        "print(json.dumps({name: config.get_option(name) for name in sys.argv[1:]}))"
    )
    ran = subprocess.run([sys.executable, "-c", script, *ASKED], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert json.loads(ran.stdout) == {
        "theme.primaryColor": None,
        "theme.light.primaryColor": "#0b6e63",
        "theme.chartCategoricalColors": None,
        "browser.gatherUsageStats": False,
        "server.baseUrlPath": "",
        "server.enableCORS": True,
        "client.toolbarMode": "minimal",
    }

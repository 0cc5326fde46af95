import runpy, sys
def test_tmp(place, monkeypatch, capsys):
    import duerow
    real = duerow.connect
    monkeypatch.setattr(duerow, "connect", lambda url, **k: real(url, **k, **place.settings))
    monkeypatch.setattr(sys, "argv", ["x", place.url])
    runpy.run_path("/tmp/w2.py")
    with capsys.disabled(): print(capsys.readouterr().out)

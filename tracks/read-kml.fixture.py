"""Reads KML on standard input with Python's own parser, checks the order and the values that the KML 2.2 schema
requires, and prints the content as JSON."""
import json
import re
import sys
import xml.etree.ElementTree as ET
from datetime import datetime

K = "{http://www.opengis.net/kml/2.2}"
root = ET.fromstring(sys.stdin.buffer.read())
assert root.tag == K + "kml", root.tag
(document,) = list(root)
assert document.tag == K + "Document", document.tag


def order(element, names):
    """The children come in the order of the schema, and no others do."""
    at = -1
    for child in element:
        name = child.tag.removeprefix(K)
        assert name in names, f"{element.tag} has {child.tag}"
        assert names.index(name) >= at, f"{name} comes too late in {element.tag}"
        at = names.index(name)


def positions(element):
    result = []
    for word in element.find(K + "coordinates").text.split():
        assert re.fullmatch(r"-?\d+(\.\d+)?,-?\d+(\.\d+)?,-?\d+(\.\d+)?", word), word
        longitude, latitude, altitude = map(float, word.split(","))
        assert -180 <= longitude <= 180 and -90 <= latitude <= 90, word
        result.append([longitude, latitude, altitude])
    return result


def when(text):
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text), text
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


order(document, ["name", "description", "Style", "Placemark"])
styles = {}
for style in document.findall(K + "Style"):
    order(style, ["IconStyle", "LineStyle"])
    order(style.find(K + "IconStyle"), ["color", "scale"])
    order(style.find(K + "LineStyle"), ["color", "width"])
    colour = style.find(K + "LineStyle").find(K + "color").text
    assert re.fullmatch("[0-9a-f]{8}", colour), colour
    styles["#" + style.get("id")] = colour
found = []
ids = set()
for mark in document.findall(K + "Placemark"):
    order(mark, ["name", "description", "TimeSpan", "styleUrl", "ExtendedData", "Point", "LineString", "MultiGeometry"])
    assert mark.get("id") not in ids, "an id comes twice"
    ids.add(mark.get("id"))
    span = mark.find(K + "TimeSpan")
    order(span, ["begin", "end"])
    assert when(span.find(K + "begin").text) <= when(span.find(K + "end").text)
    data = {}
    for entry in mark.find(K + "ExtendedData"):
        assert entry.tag == K + "Data" and [child.tag for child in entry] == [K + "value"]
        data[entry.get("name")] = entry.find(K + "value").text
    lines = list(mark.iter(K + "LineString"))
    for line in lines:
        order(line, ["tessellate", "coordinates"])
        assert len(positions(line)) >= 2, "a line of one point"
    points = list(mark.iter(K + "Point"))
    assert len(points) + len(lines) >= 1, "no geometry"
    found.append(
        {
            "name": mark.find(K + "name").text,
            "colour": styles[mark.find(K + "styleUrl").text],
            "data": data,
            "lines": [positions(line) for line in lines],
            "points": [positions(point) for point in points],
        }
    )
print(json.dumps({"name": document.find(K + "name").text, "placemarks": found}))

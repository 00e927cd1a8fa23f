"""What a program outside of Kelp finds in archived files, asked again and again: a question a line, each answered by a line of JSON.
Arguments: the reader's name, and where the bucket is (JSON). A question names the folder of a topic or, for one moment of it,
its files; and the newest of these, which has all columns that there are."""

import datetime
import importlib.util
import json
import pathlib
import sys

ORIGIN = "SEA"


def main():
    reader = READERS[sys.argv[1]](json.loads(sys.argv[2]))
    for line in sys.stdin:
        question = json.loads(line)
        print(json.dumps(getattr(reader, question["ask"])(question)), flush=True)


class DuckDb:
    def __init__(self, where):
        import duckdb

        self.db = duckdb.connect()
        self.bucket = where["bucket"]
        folder = pathlib.Path(importlib.util.find_spec("duckdb_extension_httpfs").submodule_search_locations[0])
        (extension,) = folder.glob("extensions/*/httpfs.duckdb_extension")
        self.db.execute(f"LOAD '{extension}'")
        self.db.execute(
            f"""CREATE SECRET (TYPE s3, KEY_ID '{where["accessKey"]}', SECRET '{where["secretKey"]}', REGION '{where["region"]}',
                ENDPOINT '{where["endpoint"].removeprefix("http://")}', URL_STYLE 'path', USE_SSL false)"""
        )

    def flights(self, question):
        all_of = lambda query: self.db.execute(query).fetchall()
        source = self.source(question)
        flown = "(kelp_timestamp AT TIME ZONE 'UTC')::DATE"
        sums = "count(*), sum(value_delay)::BIGINT, sum(value_distance)::BIGINT"
        return {
            "byDate": {date: rest for date, *rest in all_of(f"SELECT {flown}::VARCHAR, {sums} FROM {source} GROUP BY ALL")},
            "onDate": all_of(f"SELECT {sums} FROM {source} WHERE {flown} = '{question['date']}'")[0],
            "ofKey": all_of(f"SELECT {sums} FROM {source} WHERE kelp_key = '{ORIGIN}'::BLOB")[0],
            "ofOrigin": all_of(f"SELECT {sums} FROM {source} WHERE value_origin = '{ORIGIN}'")[0],
            "byCommit": dict(all_of(f"SELECT kelp_date::VARCHAR, count(*) FROM {source} GROUP BY ALL")),
            "places": all_of(f"SELECT kelp_segment, kelp_offset, value_row FROM {source}"),
        }

    def all(self, question):
        source = self.source(question)
        names, types = zip(*((name, of_type) for name, of_type, *_ in self.db.execute(f"DESCRIBE FROM {source}").fetchall()))
        # Python's own times end with the year 9999, which is earlier in Berlin.
        times = ", ".join(f"epoch_ms({name}) AS {name}" for name in ("kelp_timestamp", "kelp_committed"))
        rows = self.db.execute(f"SELECT * REPLACE ({times}) FROM {source} ORDER BY kelp_segment, kelp_offset").fetchall()
        return shown(names, types, rows)

    def source(self, question):
        if "files" not in question:
            return f"read_parquet('s3://{self.bucket}/{question['folder']}/*/*/*.parquet', union_by_name = true)"
        return f"read_parquet({[f's3://{self.bucket}/{one}' for one in question['files']]}, hive_partitioning = true)"


class PyArrow:
    def __init__(self, where):
        from pyarrow.fs import S3FileSystem

        self.bucket = where["bucket"]
        self.store = S3FileSystem(
            endpoint_override=where["endpoint"], region=where["region"], access_key=where["accessKey"], secret_key=where["secretKey"]
        )

    def flights(self, question):
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.dataset as ds

        data = self.data(question)
        flown = ds.field("kelp_timestamp").cast(pa.date32())
        columns = {"flown": flown, "delay": ds.field("value_delay"), "distance": ds.field("value_distance")}
        sums_of = lambda table: [table.num_rows, *(pc.sum(table[name]).as_py() for name in ("delay", "distance"))]
        where = lambda condition: sums_of(data.to_table(columns=columns, filter=condition))
        grouped = data.to_table(columns=columns).group_by("flown").aggregate([([], "count_all"), ("delay", "sum"), ("distance", "sum")])
        places = data.to_table(columns=["kelp_segment", "kelp_offset", "value_row", "kelp_date"])
        commits = places.group_by("kelp_date").aggregate([([], "count_all")]).to_pylist()
        return {
            "byDate": {str(one["flown"]): [one["count_all"], one["delay_sum"], one["distance_sum"]] for one in grouped.to_pylist()},
            "onDate": where(flown == pa.scalar(question["date"]).cast(pa.date32())),
            "ofKey": where(ds.field("kelp_key") == pa.scalar(ORIGIN.encode(), pa.binary())),
            "ofOrigin": where(ds.field("value_origin") == ORIGIN),
            "byCommit": {str(one["kelp_date"]): one["count_all"] for one in commits},
            "places": [list(row) for row in zip(*(places[at].to_pylist() for at in range(3)))],
        }

    def all(self, question):
        table = self.data(question).to_table().sort_by([("kelp_segment", "ascending"), ("kelp_offset", "ascending")])
        rows = zip(*(column.to_pylist() for column in table.columns))
        return shown(table.column_names, [str(one.type) for one in table.schema], rows)

    def data(self, question):
        import pyarrow as pa
        import pyarrow.dataset as ds
        import pyarrow.parquet as pq

        # Without being told, it takes all that is no number for text.
        folders = ds.partitioning(pa.schema([("kelp_date", pa.date32()), ("kelp_segment", pa.string())]), flavor="hive")
        # The first file's columns would be those of all.
        schema = pq.read_schema(f"{self.bucket}/{question['newest']}", filesystem=self.store).remove_metadata()
        schema = schema.append(pa.field("kelp_date", pa.date32())).append(pa.field("kelp_segment", pa.string()))
        files = [f"{self.bucket}/{one}" for one in question["files"]] if "files" in question else f"{self.bucket}/{question['folder']}"
        return ds.dataset(files, schema=schema, filesystem=self.store, format="parquet", partitioning=folders)


class Polars:
    def __init__(self, where):
        self.bucket = where["bucket"]
        self.options = {
            "aws_endpoint_url": where["endpoint"],
            "aws_access_key_id": where["accessKey"],
            "aws_secret_access_key": where["secretKey"],
            "aws_region": where["region"],
            "aws_allow_http": "true",
        }

    def flights(self, question):
        import polars as pl

        data = self.data(question)
        flown = pl.col("kelp_timestamp").dt.date()
        sums = [pl.len(), pl.col("value_delay").sum(), pl.col("value_distance").sum()]
        where = lambda condition: list(data.filter(condition).select(sums).collect().row(0))
        by = lambda key, values: list(data.group_by(key.cast(pl.String).alias("by")).agg(values).collect().iter_rows())
        return {
            "byDate": {date: rest for date, *rest in by(flown, sums)},
            "onDate": where(flown == pl.lit(question["date"]).str.to_date()),
            "ofKey": where(pl.col("kelp_key") == ORIGIN.encode()),
            "ofOrigin": where(pl.col("value_origin") == ORIGIN),
            "byCommit": dict(by(pl.col("kelp_date"), [pl.len()])),
            "places": [list(row) for row in data.select("kelp_segment", "kelp_offset", "value_row").collect().iter_rows()],
        }

    def all(self, question):
        data = self.data(question).sort("kelp_segment", "kelp_offset").collect()
        return shown(data.columns, [str(one) for one in data.dtypes], data.iter_rows())

    def data(self, question):
        import polars as pl

        scan = lambda files, **more: pl.scan_parquet([f"s3://{self.bucket}/{one}" for one in files], storage_options=self.options, **more)
        # The first file's columns would be those of all.
        schema = scan([question["newest"]], hive_partitioning=False).collect_schema()
        files = question.get("files", [f"{question['folder']}/**/*.parquet"])
        return scan(files, hive_partitioning=True, schema=schema, missing_columns="insert")


def shown(names, types, rows):
    """Columns by their names, since readers differ in which of them come first, and each row as an object of texts."""
    columns = dict(sorted(zip(names, types)))
    hour = datetime.datetime.fromtimestamp(0).hour
    return {"hour": hour, "columns": columns, "rows": [{name: plain(one) for name, one in zip(names, row)} for row in rows]}


def plain(value):
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime.datetime):
        zone = value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)
        return (zone - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(milliseconds=1)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    # JSON has no whole numbers of 64 bits that all programs read.
    return str(value) if isinstance(value, int) and abs(value) > 2**53 else value


READERS = {"duckdb": DuckDb, "pyarrow": PyArrow, "polars": Polars}

if __name__ == "__main__":
    main()
